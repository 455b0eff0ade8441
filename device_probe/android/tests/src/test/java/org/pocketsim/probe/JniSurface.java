package org.pocketsim.probe;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.json.JSONObject;
import org.junit.Test;

/** Every native function on the host's library; JniCheckTest runs this where the JVM checks JNI. */
public final class JniSurface {
  private final NativeEngine engine = new NativeEngine();

  private static final Class<IllegalArgumentException> ARGUMENT = IllegalArgumentException.class;
  private static final Class<IllegalStateException> STATE = IllegalStateException.class;

  private JSONObject await(long handle) throws Exception {
    while (true) {
      JSONObject status = new JSONObject(engine.status(handle));
      String stage = status.getString("stage");
      if (stage.equals("finished") || stage.equals("failed")) {
        return status;
      }
      Thread.sleep(10);
    }
  }

  private static String tinyRun(Path folder) {
    return "{\"activity\":\"run\",\"depth\":\"quick\",\"only\":[\"sha256\"],\"threads_max\":2,"
        + "\"scratch\":"
        + JSONObject.quote(folder.toString())
        + "}";
  }

  @Test
  public void aTinyRunReports() throws Exception {
    long handle = engine.start(tinyRun(Files.createTempDirectory("probe")));
    engine.observe(handle, "{\"thermal_status\":2}");
    JSONObject status = await(handle);
    assertEquals(status.toString(), "finished", status.getString("stage"));
    JSONObject report = new JSONObject(engine.report(handle));
    assertEquals(1, report.getInt("schema_version"));
    JSONObject measurement = report.getJSONArray("measurements").getJSONObject(0);
    assertEquals("sha256", measurement.getString("kernel"));
    engine.free(handle);
    assertThrows(ARGUMENT, () -> engine.status(handle));
    assertThrows(ARGUMENT, () -> engine.free(handle));
  }

  @Test
  public void aRunningSessionIsStoppedAndForgotten() throws Exception {
    Path folder = Files.createTempDirectory("probe");
    String all = tinyRun(folder).replace("\"only\":[\"sha256\"],", "");
    long handle = engine.start(all);
    assertNull(engine.report(handle));
    engine.stop(handle);
    assertEquals("finished", await(handle).getString("stage"));
    assertTrue(new JSONObject(engine.report(handle)).getJSONObject("made").getBoolean("stopped"));
    long forgotten = engine.start(all);
    engine.free(forgotten);
    assertThrows(ARGUMENT, () -> engine.stop(forgotten));
  }

  @Test
  public void badInputIsTheCallersFault() {
    byte[] notText = {'{', (byte) 0xff, '}'};
    List<byte[]> bad = new ArrayList<>();
    bad.add(null);
    bad.add(new byte[0]);
    bad.add(notText);
    bad.add("[]".getBytes(UTF_8));
    bad.add("{\"activity\":\"run\",\"depth\":7}".getBytes(UTF_8));
    for (byte[] input : bad) {
      assertThrows(ARGUMENT, () -> NativeEngine.start(input));
      assertThrows(ARGUMENT, () -> NativeEngine.observeOf(1, input));
      assertThrows(ARGUMENT, () -> NativeEngine.link(input));
      assertThrows(ARGUMENT, () -> NativeEngine.peer(input));
    }
    assertThrows(ARGUMENT, () -> NativeEngine.qr((byte[]) null));
    assertThrows(ARGUMENT, () -> NativeEngine.qr(new byte[10_000]));
    for (long handle : new long[] {0, -1, Long.MAX_VALUE, Long.MIN_VALUE}) {
      assertThrows(ARGUMENT, () -> engine.status(handle));
      assertThrows(ARGUMENT, () -> engine.stop(handle));
      assertThrows(ARGUMENT, () -> engine.report(handle));
      assertThrows(ARGUMENT, () -> engine.free(handle));
    }
  }

  @Test
  public void aPanicBecomesAnExceptionOrAFailure() throws Exception {
    String call = "{\"activity\":\"fault\",\"on_thread\":false}";
    IllegalStateException thrown = assertThrows(STATE, () -> engine.start(call));
    assertTrue(thrown.getMessage(), thrown.getMessage().contains("asked to panic"));
    long handle = engine.start("{\"activity\":\"fault\",\"on_thread\":true}");
    JSONObject status = await(handle);
    assertEquals("failed", status.getString("stage"));
    assertTrue(status.getString("error").contains("asked to panic"));
    assertNull(engine.report(handle));
    engine.free(handle);
  }

  @Test
  public void manyThreadsUseItAtOnce() throws Exception {
    List<Throwable> failures = new ArrayList<>();
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < 8; i++) {
      Thread thread = new Thread(this::startLookAndFree);
      thread.setUncaughtExceptionHandler(
          (which, failure) -> {
            synchronized (failures) {
              failures.add(failure);
            }
          });
      threads.add(thread);
      thread.start();
    }
    for (Thread thread : threads) {
      thread.join();
    }
    assertTrue(failures.toString(), failures.isEmpty());
  }

  private void startLookAndFree() {
    for (int i = 0; i < 50; i++) {
      long handle = engine.start("{\"activity\":\"fault\",\"on_thread\":true}");
      assertTrue(engine.status(handle).contains("fault"));
      engine.free(handle);
      assertThrows(ARGUMENT, () -> engine.status(handle));
    }
  }

  @Test
  public void linksAndCodesAreMade() {
    String link = engine.link("10.0.0.1:4747");
    assertEquals("10.0.0.1:4747", engine.peer(link));
    byte[] modules = engine.qr(link);
    int side = (int) Math.sqrt(modules.length);
    assertEquals(modules.length, side * side);
  }
}
