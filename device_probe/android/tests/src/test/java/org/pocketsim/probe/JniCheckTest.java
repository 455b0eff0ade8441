package org.pocketsim.probe;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.junit.Test;

/** Runs JniSurface in a JVM that checks every JNI call, and reads what it says. */
public final class JniCheckTest {
  private static final Pattern COMPLAINT =
      Pattern.compile("(WARNING|FATAL ERROR) in native method|JNI call made|exception pending");

  private static final long LIMIT_S = 150;

  @Test
  public void theJvmHasNoComplaint() throws Exception {
    Path said = Files.createTempFile("jni", ".txt");
    File library = new File(System.getProperty("library.host"));
    List<String> command =
        List.of(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-Xcheck:jni",
            "-Djava.library.path=" + library.getParent(),
            "-cp",
            System.getProperty("java.class.path"),
            "org.junit.runner.JUnitCore",
            JniSurface.class.getName());
    Process process =
        new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(said.toFile()).start();
    boolean ended = process.waitFor(LIMIT_S, TimeUnit.SECONDS);
    process.destroyForcibly();
    String text = Files.readString(said);
    assertTrue("not done in time:\n" + text, ended);
    assertEquals(text, 0, process.exitValue());
    assertTrue(text, text.contains("OK (6 tests)"));
    assertTrue(text, !COMPLAINT.matcher(text).find());
  }
}
