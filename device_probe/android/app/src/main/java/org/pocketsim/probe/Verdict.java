package org.pocketsim.probe;

import android.content.Context;
import org.json.JSONArray;
import org.json.JSONObject;

/** Whether a report may be called clean, in words. */
final class Verdict {
  private Verdict() {}

  /**
   * The conditions that spoiled a run, or that there were none; empty for a trade and as long as
   * nothing is finished.
   */
  static String of(Context context, JSONArray spoiled) {
    if (spoiled == null) {
      return "";
    }
    if (spoiled.length() == 0) {
      return context.getString(R.string.verdict_clean);
    }
    StringBuilder lines = new StringBuilder();
    for (int i = 0; i < spoiled.length(); i++) {
      lines.append(i == 0 ? "" : "\n").append(line(context, spoiled.optJSONObject(i)));
    }
    return context.getString(R.string.verdict_spoiled, lines);
  }

  private static String line(Context context, JSONObject spoiled) {
    String condition = spoiled.optString("condition");
    int words =
        context
            .getResources()
            .getIdentifier("condition_" + condition, "string", context.getPackageName());
    // A condition that this version has no words for spoils just as well.
    String said = words == 0 ? condition : context.getString(words);
    return context.getString(R.string.spoiled_line, said, spoiled.optString("detail"));
  }
}
