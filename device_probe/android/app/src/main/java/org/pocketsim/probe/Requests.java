package org.pocketsim.probe;

import java.io.File;
import org.json.JSONArray;
import org.json.JSONException;
import org.json.JSONObject;

/** What the engine is asked for, as JSON. */
final class Requests {
  /** Port of the peers; QUIC takes the next one, TFTP the one after. The command line's default. */
  static final int PORT = 4747;

  private Requests() {}

  static String run(boolean full, File scratch, JSONObject extras) {
    return text(
        "activity", "run",
        "depth", full ? "full" : "quick",
        "scratch", scratch.getPath(),
        "extras", extras);
  }

  /** The output gets the events, as the benchmark app of the theses wrote them. */
  static String listen(File output) {
    return text("activity", "listen", "bind", "0.0.0.0:" + PORT, "output", output.getPath());
  }

  static String dial(String peer, String carrier, double rate, double seconds, File output) {
    return text(
        "activity", "dial",
        "peer", peer,
        "carrier", carrier,
        "rates_per_s", new JSONArray().put((Object) rate),
        "duration_s", seconds,
        "output", output.getPath());
  }

  private static String text(Object... pairs) {
    try {
      JSONObject request = new JSONObject();
      for (int i = 0; i < pairs.length; i += 2) {
        request.put((String) pairs[i], pairs[i + 1]);
      }
      return request.toString();
    } catch (JSONException infinite) {
      throw new IllegalArgumentException(infinite);
    }
  }
}
