package org.pocketsim.probe;

import android.content.Context;
import android.content.pm.ApplicationInfo;
import android.os.BatteryManager;
import android.os.Build;
import android.os.PowerManager;
import org.json.JSONException;
import org.json.JSONObject;

/** What only Java is told about the phone: its names, the battery, heat, power saving. */
final class Extras {
  private Extras() {}

  static JSONObject of(Context context) {
    try {
      JSONObject extras = new JSONObject();
      int flags = context.getApplicationInfo().flags;
      extras.put("debuggable", (flags & ApplicationInfo.FLAG_DEBUGGABLE) != 0);
      PowerManager power = context.getSystemService(PowerManager.class);
      extras.put("power_save", power.isPowerSaveMode());
      if (Build.VERSION.SDK_INT >= Build.VERSION_CODES.Q) {
        extras.put("thermal_status", power.getCurrentThermalStatus());
      }
      addBattery(context, extras);
      return extras;
    } catch (JSONException infinite) {
      throw new IllegalStateException("counts and flags are finite", infinite);
    }
  }

  private static void addBattery(Context context, JSONObject extras) throws JSONException {
    BatteryManager battery = context.getSystemService(BatteryManager.class);
    int current = battery.getIntProperty(BatteryManager.BATTERY_PROPERTY_CURRENT_NOW);
    // Integer.MIN_VALUE: not supported (since API level 28; 0 before).
    if (current != Integer.MIN_VALUE && current != 0) {
      extras.put("battery_current_a", current / MICRO);
    }
    int level = battery.getIntProperty(BatteryManager.BATTERY_PROPERTY_CAPACITY);
    if (level > 0) {
      extras.put("battery_level_ratio", level / 100.0);
    }
  }

  /** The property is in microamperes. */
  private static final double MICRO = 1e6;
}
