package org.pocketsim.probe;

import static java.nio.charset.StandardCharsets.UTF_8;

import android.content.Context;
import android.net.Uri;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.text.SimpleDateFormat;
import java.util.Arrays;
import java.util.Date;
import java.util.List;
import java.util.Locale;
import java.util.TimeZone;

/** The reports on this phone: files of the app, named by the time of their end. */
final class Reports {
  static final String AUTHORITY = "org.pocketsim.probe.reports";

  private Reports() {}

  static File folder(Context context) {
    File folder = new File(context.getFilesDir(), "reports");
    folder.mkdirs();
    return folder;
  }

  /** Writes a report beside its final place and renames it, so that a file here is complete. */
  static File save(Context context, String text, Date now) {
    SimpleDateFormat format = new SimpleDateFormat("yyyyMMdd-HHmmss", Locale.ROOT);
    format.setTimeZone(TimeZone.getTimeZone("UTC"));
    File file = new File(folder(context), "report-" + format.format(now) + SUFFIX);
    File draft = new File(folder(context), "draft");
    try {
      Files.write(draft.toPath(), text.getBytes(UTF_8));
    } catch (IOException full) {
      throw new IllegalStateException("the report could not be written: " + full.getMessage());
    }
    draft.renameTo(file);
    forgetOld(context);
    return file;
  }

  /** Where a trade writes its events until it has a report. */
  static File events(Context context) {
    return new File(folder(context), "draft.csv");
  }

  /** Puts the events of a trade beside its report. */
  static void attachEvents(Context context, File report) {
    events(context).renameTo(besides(report));
  }

  /** The newest report, or null. */
  static File latest(Context context) {
    File[] all = all(context);
    return all.length == 0 ? null : all[all.length - 1];
  }

  /** A report, and the events that are beside it if it is a trade's. */
  static List<File> parts(File report) {
    File events = besides(report);
    return events.exists() ? Arrays.asList(report, events) : Arrays.asList(report);
  }

  /** The address by which another app reads a report that was shared with it. */
  static Uri uri(File report) {
    return new Uri.Builder()
        .scheme("content")
        .authority(AUTHORITY)
        .appendPath(report.getName())
        .build();
  }

  /** The report of an address, or null. */
  static File find(Context context, Uri uri) {
    for (File report : all(context)) {
      for (File part : parts(report)) {
        if (uri(part).equals(uri)) {
          return part;
        }
      }
    }
    return null;
  }

  private static void forgetOld(Context context) {
    File[] all = all(context);
    for (int i = 0; i < all.length - KEPT; i++) {
      parts(all[i]).forEach(File::delete);
    }
  }

  private static File besides(File report) {
    return new File(report.getPath().replace(SUFFIX, ".csv"));
  }

  private static File[] all(Context context) {
    File[] all = folder(context).listFiles((folder, name) -> name.endsWith(SUFFIX));
    Arrays.sort(all);
    return all;
  }

  private static final String SUFFIX = ".json";

  /** A report has up to a few megabytes; twenty fit anywhere. */
  private static final int KEPT = 20;
}
