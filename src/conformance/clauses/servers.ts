import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import type { Pod } from '../../kube/types.ts';
import { type Clause, InapplicableClause, type Trial } from '../subject.ts';

/** What a container serves. */
export type Protocol = 'http' | 'grpc';

/** Makes the `needs` of a clause whose container serves. */
export const serving =
  (protocol: Protocol): NonNullable<Clause['needs']> =>
  ({ serve }) =>
    serve?.(protocol, 1) ? undefined : `serve: a container that serves ${protocol}`;

/** Returns a TCP port on which nothing listens at the time. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** A pod whose `main` serves on a port. @throws {InapplicableClause} when the backend has no such containers */
export function serverPod(t: Trial, protocol: Protocol, port: number): Pod {
  const command = t.world.serve?.(protocol, port);
  if (!command) throw new InapplicableClause(`serve: a container that serves ${protocol}`);
  return t.pod({ containers: [{ ...t.container('main'), command }], terminationGracePeriodSeconds: 1 });
}
