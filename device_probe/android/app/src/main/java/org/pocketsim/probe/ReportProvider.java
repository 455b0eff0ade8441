package org.pocketsim.probe;

import android.content.ContentProvider;
import android.content.ContentValues;
import android.database.Cursor;
import android.database.MatrixCursor;
import android.net.Uri;
import android.os.ParcelFileDescriptor;
import android.provider.OpenableColumns;
import java.io.File;
import java.io.FileNotFoundException;

/** Lets an app that a report was shared with read that report, and nothing else. */
public final class ReportProvider extends ContentProvider {
  @Override
  public boolean onCreate() {
    return true;
  }

  @Override
  public String getType(Uri uri) {
    return uri.getPath().endsWith(".csv") ? "text/csv" : "application/json";
  }

  @Override
  public ParcelFileDescriptor openFile(Uri uri, String mode) throws FileNotFoundException {
    File report = Reports.find(getContext(), uri);
    if (report == null) {
      throw new FileNotFoundException(uri.toString());
    }
    if (!mode.equals("r")) {
      throw new SecurityException("reports are read only");
    }
    return ParcelFileDescriptor.open(report, ParcelFileDescriptor.MODE_READ_ONLY);
  }

  @Override
  public Cursor query(Uri uri, String[] columns, String where, String[] values, String order) {
    String[] known = {OpenableColumns.DISPLAY_NAME, OpenableColumns.SIZE};
    MatrixCursor cursor = new MatrixCursor(columns == null ? known : columns, 1);
    File report = Reports.find(getContext(), uri);
    if (report != null) {
      MatrixCursor.RowBuilder row = cursor.newRow();
      row.add(OpenableColumns.DISPLAY_NAME, report.getName());
      row.add(OpenableColumns.SIZE, report.length());
    }
    return cursor;
  }

  @Override
  public Uri insert(Uri uri, ContentValues values) {
    throw new UnsupportedOperationException("reports are read only");
  }

  @Override
  public int update(Uri uri, ContentValues values, String where, String[] arguments) {
    throw new UnsupportedOperationException("reports are read only");
  }

  @Override
  public int delete(Uri uri, String where, String[] arguments) {
    throw new UnsupportedOperationException("reports are read only");
  }
}
