package org.pocketsim.probe;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import android.app.Application;
import android.content.ContentResolver;
import android.content.ContentValues;
import android.content.pm.ProviderInfo;
import android.database.Cursor;
import android.net.Uri;
import java.io.File;
import java.io.FileNotFoundException;
import java.io.InputStream;
import java.nio.file.Files;
import java.util.Date;
import java.util.List;
import org.junit.Before;
import org.junit.Test;
import org.junit.runner.RunWith;
import org.robolectric.Robolectric;
import org.robolectric.RobolectricTestRunner;
import org.robolectric.RuntimeEnvironment;
import org.robolectric.annotation.Config;

/** The reports on the phone, and who may read them. */
@RunWith(RobolectricTestRunner.class)
@Config(sdk = 34)
public final class AppReportsTest {
  private final Application context = RuntimeEnvironment.getApplication();
  private ContentResolver resolver;

  @Before
  public void register() {
    Robolectric.setupContentProvider(ReportProvider.class, Reports.AUTHORITY);
    resolver = context.getContentResolver();
  }

  private File save(long second) {
    return Reports.save(context, "{\"second\":" + second + "}", new Date(1_000 * second));
  }

  @Test
  public void aReportIsReadAsItWasWritten() throws Exception {
    Uri uri = Reports.uri(save(1));
    try (InputStream stream = resolver.openInputStream(uri)) {
      assertEquals("{\"second\":1}", new String(stream.readAllBytes()));
    }
    assertEquals("application/json", resolver.getType(uri));
    try (Cursor cursor = resolver.query(uri, null, null, null, null)) {
      assertTrue(cursor.moveToFirst());
      assertEquals("report-19700101-000001.json", cursor.getString(0));
      assertEquals(12, cursor.getLong(1));
    }
  }

  @Test
  public void theEventsOfATradeGoWithItsReport() throws Exception {
    Files.writeString(Reports.events(context).toPath(), "operation\n");
    File report = save(1);
    assertEquals(List.of(report), Reports.parts(report));
    Reports.attachEvents(context, report);
    Uri events = Reports.uri(Reports.parts(report).get(1));
    assertEquals("text/csv", resolver.getType(events));
    try (InputStream stream = resolver.openInputStream(events)) {
      assertEquals("operation\n", new String(stream.readAllBytes()));
    }
    assertFalse(Reports.events(context).exists());
  }

  @Test
  public void nothingElseIsRead() throws Exception {
    File secret = new File(context.getFilesDir(), "secret.json");
    Files.writeString(secret.toPath(), "secret");
    Files.writeString(Reports.events(context).toPath(), "not finished");
    String base = "content://" + Reports.AUTHORITY;
    for (String path : new String[] {"/../secret.json", "/..%2Fsecret.json", "/secret.json", "/draft.csv", "", "/"}) {
      Uri uri = Uri.parse(base + path);
      assertThrows(path, FileNotFoundException.class, () -> provider().openFile(uri, "r"));
      try (Cursor cursor = provider().query(uri, null, null, null, null)) {
        assertEquals(0, cursor.getCount());
      }
    }
  }

  @Test
  public void nothingIsWritten() {
    Uri uri = Reports.uri(save(1));
    for (String mode : new String[] {"w", "rw", "rwt", "wa"}) {
      assertThrows(mode, SecurityException.class, () -> provider().openFile(uri, mode));
    }
    ContentValues values = new ContentValues();
    Class<UnsupportedOperationException> refusal = UnsupportedOperationException.class;
    assertThrows(refusal, () -> provider().insert(uri, values));
    assertThrows(refusal, () -> provider().update(uri, values, null, null));
    assertThrows(refusal, () -> provider().delete(uri, null, null));
    assertTrue(Reports.latest(context).exists());
  }

  @Test
  public void itIsNotExportedAndGrantsByAddress() {
    ProviderInfo info = context.getPackageManager().resolveContentProvider(Reports.AUTHORITY, 0);
    assertFalse(info.exported);
    assertTrue(info.grantUriPermissions);
  }

  @Test
  public void onlyTheNewestAreKept() {
    for (int second = 0; second < 25; second++) {
      save(second);
    }
    File[] kept = Reports.folder(context).listFiles();
    assertEquals(20, kept.length);
    assertTrue(Reports.latest(context).getName().endsWith("000024.json"));
    assertFalse(new File(Reports.folder(context), "report-19700101-000004.json").exists());
  }

  private static ReportProvider provider() {
    ReportProvider provider = new ReportProvider();
    provider.attachInfo(RuntimeEnvironment.getApplication(), new ProviderInfo());
    return provider;
  }
}
