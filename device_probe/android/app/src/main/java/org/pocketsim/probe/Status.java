package org.pocketsim.probe;

import android.content.Context;
import java.util.ArrayList;
import java.util.List;
import org.json.JSONArray;
import org.json.JSONException;
import org.json.JSONObject;

/** How far the engine is, read from its JSON; says it in words. */
final class Status {
  static final Status IDLE = new Status(new JSONObject());

  private final JSONObject json;

  private Status(JSONObject json) {
    this.json = json;
  }

  static Status parse(String text) {
    try {
      return new Status(new JSONObject(text));
    } catch (JSONException ours) {
      throw new IllegalStateException("the engine answers in JSON", ours);
    }
  }

  /** What was refused before it could begin. */
  static Status failed(String reason) {
    try {
      return new Status(new JSONObject().put("stage", "failed").put("error", reason));
    } catch (JSONException never) {
      throw new IllegalStateException(never);
    }
  }

  boolean isOver() {
    return stage().equals("finished") || stage().equals("failed");
  }

  boolean isRun() {
    return activity().equals("run");
  }

  boolean isListening() {
    return activity().equals("listen");
  }

  int done() {
    return json.optInt("done");
  }

  int total() {
    return json.optInt("total");
  }

  /** One sentence about now. */
  String sentence(Context context) {
    switch (stage()) {
      case "":
        return context.getString(R.string.idle);
      case "stopping":
        return context.getString(R.string.stopping);
      case "finished":
        return context.getString(R.string.finished);
      case "failed":
        return context.getString(R.string.failed, json.optString("error"));
      default:
        return isRun() ? caseSentence(context) : tradeSentence(context);
    }
  }

  /** Whether the finished run is clean, in words; empty before. */
  String verdict(Context context) {
    return Verdict.of(context, json.optJSONArray("spoiled"));
  }

  /** One line for each kernel seen so far, with the median of its last case. */
  List<String> kernels(Context context) {
    List<String> lines = new ArrayList<>();
    JSONArray kernels = json.optJSONArray("kernels");
    for (int i = 0; kernels != null && i < kernels.length(); i++) {
      lines.add(kernelLine(context, kernels.optJSONObject(i)));
    }
    return lines;
  }

  private static String kernelLine(Context context, JSONObject kernel) {
    String name = kernel.optString("kernel");
    if (kernel.isNull("quantity")) {
      return context.getString(R.string.kernel_unmeasured, name, kernel.optString("reason"));
    }
    String figure = Figures.text(kernel.optString("quantity"), kernel.optDouble("median"));
    return context.getString(R.string.kernel_measured, name, figure, kernel.optInt("measured"));
  }

  private String caseSentence(Context context) {
    if (json.isNull("current")) {
      return context.getString(R.string.starting);
    }
    String name = Figures.caseName(json.optJSONObject("current"));
    return context.getString(R.string.running_case, done() + 1, total(), name);
  }

  private String tradeSentence(Context context) {
    JSONObject trade = json.optJSONObject("trade");
    if (trade == null) {
      return context.getString(R.string.starting);
    }
    return context.getString(
        R.string.trading,
        trade.optString("stage"),
        trade.optLong("sent"),
        trade.optLong("stored"),
        trade.optLong("refused"),
        Figures.text("rtt_s", trade.optDouble("rtt_s_p50")));
  }

  private String activity() {
    return json.optString("activity");
  }

  private String stage() {
    return json.optString("stage");
  }
}
