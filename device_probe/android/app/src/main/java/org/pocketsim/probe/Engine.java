package org.pocketsim.probe;

/** What measures and trades: the native library, or a stand-in of the tests. All text is JSON. */
interface Engine {
  /** Begins an activity and returns its handle. */
  long start(String request);

  /** How far it is. */
  String status(long handle);

  /** Tells it what only Java knows about the phone now. */
  void observe(long handle, String extras);

  /** Asks it to end; it does after the sample it is at. */
  void stop(long handle);

  /** What came of it; null while it runs. */
  String report(long handle);

  /** Ends it if it still runs, and forgets it. */
  void free(long handle);

  /** The link that a peer's camera app opens, for an address `HOST:PORT`. */
  String link(String address);

  /** The address `HOST:PORT` in such a link, or in an address typed by hand. */
  String peer(String text);

  /** The modules of a square QR code, row by row, 1 for dark. */
  byte[] qr(String text);
}
