package org.pocketsim.probe;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertTrue;

import com.github.unidbg.linux.android.dvm.DvmClass;
import com.github.unidbg.linux.android.dvm.DvmObject;
import com.github.unidbg.linux.android.dvm.VM;
import com.github.unidbg.linux.android.dvm.array.ByteArray;
import java.io.File;
import java.nio.file.Files;
import org.junit.AfterClass;
import org.junit.BeforeClass;
import org.junit.Test;

/**
 * The library of the APK, on an emulated arm64 processor with the bionic of API level 23.
 *
 * <p>Covers its loading, computing, files, bad input and panics. The emulator has neither UDP nor
 * eventfd, one thread at a time, and errors that SQLite mistakes, so these are for the other tests.
 */
public final class Arm64LibraryTest {
  private static EmulatedPhone emulator;
  private static VM vm;
  private static DvmClass engine;

  private static final String SCRATCH = "/data/local/tmp";

  @BeforeClass
  public static void load() throws Exception {
    File files = Files.createTempDirectory("phone").toFile();
    assertTrue(new File(files, SCRATCH).mkdirs());
    emulator = new EmulatedPhone(files);
    vm = emulator.vm();
    vm.loadLibrary(new File(System.getProperty("library.arm64")), false);
    engine = vm.resolveClass("org/pocketsim/probe/NativeEngine");
  }

  @AfterClass
  public static void close() throws Exception {
    emulator.close();
  }

  private static ByteArray bytes(String text) {
    return new ByteArray(vm, text.getBytes(UTF_8));
  }

  private static byte[] call(String method, Object argument) {
    DvmObject<?> answer = engine.callStaticJniMethodObject(emulator, method, argument);
    return answer == null ? null : (byte[]) answer.getValue();
  }

  private static String text(String method, Object argument) {
    return new String(call(method, argument), UTF_8);
  }

  private static String exception() {
    return emulator.exception();
  }

  private static long start(String request) {
    return engine.callStaticJniMethodLong(emulator, "start([B)J", bytes(request));
  }

  /** The status when all is over. */
  private static String end(long handle) {
    while (true) {
      String status = text("statusOf(J)[B", handle);
      if (!status.contains("\"stage\":\"running\"")) {
        return status;
      }
      emulator.yield();
    }
  }

  @Test
  public void linksAndCodesAreMade() {
    String link = text("link([B)[B", bytes("192.168.1.20:4747"));
    assertEquals("pocketsim-probe://trade/192.168.1.20:4747", link);
    assertEquals("192.168.1.20:4747", text("peer([B)[B", bytes(link)));
    byte[] modules = call("qr([B)[B", bytes(link));
    int side = (int) Math.sqrt(modules.length);
    assertEquals(modules.length, side * side);
    assertEquals("the corner of a finder pattern", 1, modules[0]);
    assertNull(exception());
  }

  @Test
  public void badInputIsTheCallersFault() {
    String argument = "java/lang/IllegalArgumentException";
    assertNull(call("peer([B)[B", bytes("nowhere at all")));
    assertEquals(argument, exception());
    assertNull(call("peer([B)[B", new ByteArray(vm, new byte[] {(byte) 0xff})));
    assertEquals(argument, exception());
    assertEquals(0, start("{"));
    assertEquals(argument, exception());
    assertNull(call("statusOf(J)[B", 99L));
    assertEquals(argument, exception());
  }

  @Test
  public void aPanicInACallIsAnException() {
    String fault = "{\"activity\":\"fault\",\"on_thread\":false}";
    assertEquals(0, start(fault));
    assertEquals("java/lang/IllegalStateException", exception());
    // And the library goes on.
    assertEquals("a:1", text("peer([B)[B", bytes("a:1")));
  }

  @Test
  public void aPanicOnAThreadFailsItsSession() {
    String fault = "{\"activity\":\"fault\",\"on_thread\":true}";
    long handle = start(fault);
    assertTrue(handle > 0);
    String status = end(handle);
    assertTrue(status, status.contains("\"stage\":\"failed\""));
    assertTrue(status, status.contains("asked to panic"));
    assertNull(call("reportOf(J)[B", handle));
    engine.callStaticJniMethod(emulator, "freeOf(J)V", handle);
    assertNull(exception());
  }

  @Test
  public void itMeasuresOnBionic() {
    String run =
        "{\"activity\":\"run\",\"depth\":\"quick\",\"scratch\":\"" + SCRATCH + "\","
            + "\"only\":[\"sha256\",\"file_append\"],\"threads_max\":1}";
    long handle = start(run);
    String status = end(handle);
    assertTrue(status, status.contains("\"stage\":\"finished\""));
    assertFalse(status, status.contains("\"measured\":0"));
    String report = text("reportOf(J)[B", handle);
    assertTrue(report, report.contains("\"libc\":\"bionic\""));
    assertTrue(report, report.contains("\"abi\":\"arm64-v8a\""));
  }

  @Test
  public void aRunThatCannotBeIsRefused() {
    String run =
        "{\"activity\":\"run\",\"depth\":\"quick\",\"scratch\":\"/data\",\"only\":[\"nothing\"]}";
    assertEquals(0, start(run));
    assertFalse(exception() == null);
  }
}
