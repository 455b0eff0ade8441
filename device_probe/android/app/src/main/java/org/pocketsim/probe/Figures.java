package org.pocketsim.probe;

import java.util.Iterator;
import java.util.Locale;
import org.json.JSONObject;

/** Numbers in SI units for people. A quantity's name ends in its unit. */
final class Figures {
  private Figures() {}

  /** A value of a quantity, such as "31.2 µs" for 3.12e-5 of `wall_s`. */
  static String text(String quantity, double value) {
    if (quantity.endsWith("_per_s")) {
      String what = quantity.contains("bytes") ? "B/s" : "/s";
      return scaled(value, what);
    }
    if (quantity.endsWith("_s")) {
      return scaled(value, "s");
    }
    if (quantity.endsWith("_a")) {
      return scaled(value, "A");
    }
    if (quantity.endsWith("_ratio")) {
      return String.format(Locale.ROOT, "%.3g %%", 100 * value);
    }
    return String.format(Locale.ROOT, "%.4g %s", value, unit(quantity));
  }

  /** Kernel and parameters of a case, such as "ed25519_sign, bytes 147". */
  static String caseName(JSONObject kernel) {
    StringBuilder name = new StringBuilder(kernel.optString("kernel"));
    JSONObject parameters = kernel.optJSONObject("parameters");
    if (parameters != null) {
      for (Iterator<String> keys = parameters.keys(); keys.hasNext(); ) {
        String key = keys.next();
        name.append(", ").append(key).append(' ').append(parameters.opt(key));
      }
    }
    return name.toString();
  }

  private static String scaled(double value, String unit) {
    double size = Math.abs(value);
    for (int i = 0; i < PREFIXES.length; i++) {
      double factor = Math.pow(1000, 3 - i);
      // Half a digit below the factor, as 999.95 would be rounded up to it.
      if (size >= 0.99995 * factor) {
        return String.format(Locale.ROOT, "%.4g %s%s", value / factor, PREFIXES[i], unit);
      }
    }
    return String.format(Locale.ROOT, "%.3g %s", value, unit);
  }

  private static String unit(String quantity) {
    return quantity.substring(quantity.lastIndexOf('_') + 1);
  }

  /** From giga downwards by a thousand each. */
  private static final String[] PREFIXES = {"G", "M", "k", "", "m", "µ", "n"};
}
