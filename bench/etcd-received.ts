/** Returns the bytes that an etcd has received from its clients since it started. */
export async function receivedBy(etcdUrl: string): Promise<number> {
  const text = await (await fetch(`${etcdUrl}/metrics`)).text();
  return Number(/^etcd_network_client_grpc_received_bytes_total (\S+)/m.exec(text)?.[1]);
}
