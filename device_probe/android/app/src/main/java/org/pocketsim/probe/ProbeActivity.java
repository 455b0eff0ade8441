package org.pocketsim.probe;

import android.app.Activity;
import android.content.ClipData;
import android.content.ComponentName;
import android.content.Context;
import android.content.Intent;
import android.content.ServiceConnection;
import android.net.Uri;
import android.os.Bundle;
import android.os.IBinder;
import android.view.View;
import android.view.WindowManager;
import android.widget.ArrayAdapter;
import android.widget.EditText;
import android.widget.LinearLayout;
import android.widget.ProgressBar;
import android.widget.Spinner;
import android.widget.TextView;
import java.io.File;
import java.util.ArrayList;
import java.util.List;

/**
 * The one screen: measure, look on, share, trade.
 *
 * <p>It shows what the service says and holds no state of its own but what is typed, so a rotation
 * loses nothing. A link from outside only fills in the peer: nothing is sent before Trade is
 * pressed.
 */
public final class ProbeActivity extends Activity {
  private final ServiceConnection connection =
      new ServiceConnection() {
        @Override
        public void onServiceConnected(ComponentName name, IBinder binder) {
          service = ((ProbeService.Local) binder).service();
          service.listen(ProbeActivity.this::render);
          render();
        }

        @Override
        public void onServiceDisconnected(ComponentName name) {
          service = null;
        }
      };

  private ProbeService service;
  private String invitation;

  @Override
  protected void onCreate(Bundle saved) {
    super.onCreate(saved);
    setContentView(R.layout.main);
    Spinner carrier = findViewById(R.id.carrier);
    carrier.setAdapter(
        new ArrayAdapter<>(this, android.R.layout.simple_spinner_dropdown_item, CARRIERS));
    onClick(R.id.quick, () -> begin(run(false)));
    onClick(R.id.full, () -> begin(run(true)));
    onClick(R.id.stop, () -> service.stopEngine());
    onClick(R.id.share, () -> share(Reports.parts(service.report())));
    onClick(R.id.listen, () -> begin(Requests.listen(Reports.events(this))));
    onClick(R.id.dial, this::dial);
    // After a rotation the text field has kept what the link said, or what was typed since.
    if (saved == null) {
      open(getIntent());
    }
  }

  @Override
  protected void onNewIntent(Intent intent) {
    super.onNewIntent(intent);
    open(intent);
  }

  @Override
  protected void onStart() {
    super.onStart();
    bindService(new Intent(this, ProbeService.class), connection, Context.BIND_AUTO_CREATE);
  }

  @Override
  protected void onStop() {
    if (service != null) {
      service.listen(null);
    }
    unbindService(connection);
    service = null;
    super.onStop();
  }

  private void open(Intent intent) {
    Uri link = intent.getData();
    if (link == null) {
      return;
    }
    try {
      String peer = ProbeService.engine().peer(link.toString());
      this.<EditText>findViewById(R.id.peer).setText(peer);
      say(R.id.address, getString(R.string.scanned, peer));
    } catch (IllegalArgumentException garbage) {
      say(R.id.address, getString(R.string.invalid_peer, link));
    }
  }

  private String run(boolean full) {
    return Requests.run(full, getCacheDir(), Extras.of(this));
  }

  private void dial() {
    EditText field = findViewById(R.id.peer);
    String text = field.getText().toString().trim();
    String peer;
    try {
      peer = ProbeService.engine().peer(text);
    } catch (IllegalArgumentException garbage) {
      field.setError(getString(R.string.invalid_peer, text));
      return;
    }
    Double rate = number(R.id.rate);
    Double seconds = number(R.id.duration);
    if (rate != null && seconds != null) {
      Spinner carrier = findViewById(R.id.carrier);
      String name = (String) carrier.getSelectedItem();
      begin(Requests.dial(peer, name, rate, seconds, Reports.events(this)));
    }
  }

  /** The positive number in a field; null and a note at the field if there is none. */
  private Double number(int id) {
    EditText field = findViewById(id);
    try {
      return Double.valueOf(field.getText().toString());
    } catch (NumberFormatException typed) {
      field.setError(getString(R.string.invalid_number, field.getText()));
      return null;
    }
  }

  private void begin(String request) {
    ProbeService.begin(this, request);
  }

  private void share(List<File> files) {
    ArrayList<Uri> uris = new ArrayList<>();
    for (File file : files) {
      uris.add(Reports.uri(file));
    }
    boolean one = uris.size() == 1;
    Intent send = new Intent(one ? Intent.ACTION_SEND : Intent.ACTION_SEND_MULTIPLE);
    if (one) {
      send.putExtra(Intent.EXTRA_STREAM, uris.get(0));
    } else {
      send.putParcelableArrayListExtra(Intent.EXTRA_STREAM, uris);
    }
    send.setType(one ? "application/json" : "*/*");
    // The chooser hands the grant on to whichever app is chosen, for what the clip names.
    ClipData clip = ClipData.newRawUri(getString(R.string.share), uris.get(0));
    for (Uri uri : uris.subList(1, uris.size())) {
      clip.addItem(new ClipData.Item(uri));
    }
    send.setClipData(clip);
    send.addFlags(Intent.FLAG_GRANT_READ_URI_PERMISSION);
    startActivity(Intent.createChooser(send, getString(R.string.share)));
  }

  private void render() {
    Status status = service.status();
    boolean busy = service.isBusy();
    for (int id : STARTERS) {
      findViewById(id).setEnabled(!busy);
    }
    findViewById(R.id.stop).setEnabled(busy);
    findViewById(R.id.share).setEnabled(service.report() != null);
    say(R.id.stage, status.sentence(this));
    say(R.id.verdict, status.verdict(this));
    ProgressBar progress = findViewById(R.id.progress);
    progress.setVisibility(busy && status.isRun() ? View.VISIBLE : View.INVISIBLE);
    progress.setMax(status.total());
    progress.setProgress(status.done());
    renderKernels(status.kernels(this));
    renderInvitation(busy && status.isListening());
    keepScreenOn(busy);
  }

  private void renderKernels(List<String> lines) {
    LinearLayout kernels = findViewById(R.id.kernels);
    if (kernels.getChildCount() > lines.size()) {
      kernels.removeAllViews();
    }
    for (int i = 0; i < lines.size(); i++) {
      if (i == kernels.getChildCount()) {
        kernels.addView(new TextView(this));
      }
      say((TextView) kernels.getChildAt(i), lines.get(i));
    }
  }

  /** Shows where a peer reaches this phone, as text and as a code to scan. */
  private void renderInvitation(boolean listening) {
    String host = listening ? Addresses.local() : null;
    String address = host == null ? null : host + ":" + Requests.PORT;
    QrView qr = findViewById(R.id.qr);
    qr.setVisibility(address == null ? View.GONE : View.VISIBLE);
    if (listening && address == null) {
      say(R.id.address, getString(R.string.listening_nowhere));
    } else if (listening && !address.equals(invitation)) {
      say(R.id.address, getString(R.string.listening_at, address));
      qr.setContentDescription(getString(R.string.qr_description, address));
      qr.show(ProbeService.engine().qr(ProbeService.engine().link(address)));
    } else if (!listening && invitation != null) {
      say(R.id.address, "");
    }
    invitation = address;
  }

  private void keepScreenOn(boolean on) {
    int flag = WindowManager.LayoutParams.FLAG_KEEP_SCREEN_ON;
    if (on) {
      getWindow().addFlags(flag);
    } else {
      getWindow().clearFlags(flag);
    }
  }

  private void say(int id, String text) {
    say(this.<TextView>findViewById(id), text);
  }

  /** Sets a text only if it is another, as screen readers repeat whatever is set. */
  private static void say(TextView view, String text) {
    if (!text.contentEquals(view.getText())) {
      view.setText(text);
    }
  }

  private void onClick(int id, Runnable action) {
    findViewById(id)
        .setOnClickListener(
            view -> {
              // Not bound yet: the screen has only just come up.
              if (service != null) {
                action.run();
              }
            });
  }

  /** The engine's names. */
  private static final String[] CARRIERS = {"udp", "quic_keep", "quic_reconnect", "tftp"};

  private static final int[] STARTERS = {R.id.quick, R.id.full, R.id.listen, R.id.dial};
}
