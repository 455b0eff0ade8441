package org.pocketsim.probe;

import android.content.Context;
import android.graphics.Canvas;
import android.graphics.Color;
import android.graphics.Paint;
import android.util.AttributeSet;
import android.view.View;

/** Draws a QR code as large as it fits, black on white in every theme, as scanners want it. */
public final class QrView extends View {
  private final Paint paint = new Paint();
  private byte[] modules = {};

  public QrView(Context context, AttributeSet attributes) {
    super(context, attributes);
  }

  /** Shows these modules, row by row, 1 for dark. */
  void show(byte[] modules) {
    this.modules = modules;
    invalidate();
  }

  @Override
  protected void onDraw(Canvas canvas) {
    int side = (int) Math.round(Math.sqrt(modules.length));
    float module = Math.min(getWidth(), getHeight()) / (side + 2 * QUIET_MODULES);
    float whole = module * (side + 2 * QUIET_MODULES);
    canvas.translate((getWidth() - whole) / 2, (getHeight() - whole) / 2);
    paint.setColor(Color.WHITE);
    canvas.drawRect(0, 0, whole, whole, paint);
    paint.setColor(Color.BLACK);
    for (int i = 0; i < modules.length; i++) {
      if (modules[i] != 0) {
        float left = (QUIET_MODULES + i % side) * module;
        float top = (QUIET_MODULES + i / side) * module;
        canvas.drawRect(left, top, left + module, top + module, paint);
      }
    }
  }

  /** White margin that ISO 18004 asks for. */
  private static final float QUIET_MODULES = 4;
}
