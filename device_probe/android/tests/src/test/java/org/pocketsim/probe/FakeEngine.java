package org.pocketsim.probe;

import java.util.ArrayList;
import java.util.List;

/** Stands in for the native library: remembers what it was asked, says what it was told to say. */
final class FakeEngine implements Engine {
  final List<String> requests = new ArrayList<>();
  final List<String> observed = new ArrayList<>();
  final List<Long> freed = new ArrayList<>();
  int stops;
  String status = "{\"activity\":\"run\",\"stage\":\"running\",\"done\":0,\"total\":0}";
  String report;
  RuntimeException refusal;

  @Override
  public long start(String request) {
    if (refusal != null) {
      throw refusal;
    }
    requests.add(request);
    return requests.size();
  }

  @Override
  public String status(long handle) {
    return status;
  }

  @Override
  public void observe(long handle, String extras) {
    observed.add(extras);
  }

  @Override
  public void stop(long handle) {
    stops++;
  }

  @Override
  public String report(long handle) {
    return report;
  }

  @Override
  public void free(long handle) {
    freed.add(handle);
  }

  @Override
  public String link(String address) {
    return "pocketsim-probe://trade/" + address;
  }

  @Override
  public String peer(String text) {
    String address = text.replace("pocketsim-probe://trade/", "");
    if (!address.matches("[a-z0-9.]+:[0-9]+")) {
      throw new IllegalArgumentException("not an address");
    }
    return address;
  }

  @Override
  public byte[] qr(String text) {
    return new byte[] {1, 0, 0, 1};
  }
}
