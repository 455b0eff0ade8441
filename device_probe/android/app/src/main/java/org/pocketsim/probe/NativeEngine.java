package org.pocketsim.probe;

import static java.nio.charset.StandardCharsets.UTF_8;

/**
 * The engine in libprobe.so.
 *
 * <p>Text crosses the border as UTF-8 bytes. The library throws IllegalArgumentException for what
 * it cannot read and IllegalStateException for its own faults; it never ends the process.
 */
final class NativeEngine implements Engine {
  static {
    System.loadLibrary("probe");
  }

  @Override
  public long start(String request) {
    return start(request.getBytes(UTF_8));
  }

  @Override
  public String status(long handle) {
    return new String(statusOf(handle), UTF_8);
  }

  @Override
  public void observe(long handle, String extras) {
    observeOf(handle, extras.getBytes(UTF_8));
  }

  @Override
  public void stop(long handle) {
    stopOf(handle);
  }

  @Override
  public String report(long handle) {
    byte[] report = reportOf(handle);
    return report == null ? null : new String(report, UTF_8);
  }

  @Override
  public void free(long handle) {
    freeOf(handle);
  }

  @Override
  public String link(String address) {
    return new String(link(address.getBytes(UTF_8)), UTF_8);
  }

  @Override
  public String peer(String text) {
    return new String(peer(text.getBytes(UTF_8)), UTF_8);
  }

  @Override
  public byte[] qr(String text) {
    return qr(text.getBytes(UTF_8));
  }

  static native long start(byte[] request);

  static native byte[] statusOf(long handle);

  static native void observeOf(long handle, byte[] extras);

  static native void stopOf(long handle);

  static native byte[] reportOf(long handle);

  static native void freeOf(long handle);

  static native byte[] link(byte[] address);

  static native byte[] peer(byte[] text);

  static native byte[] qr(byte[] text);
}
