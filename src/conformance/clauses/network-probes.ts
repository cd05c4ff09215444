import type { Container, Pod } from '../../kube/types.ts';
import { type Clause, expect, needing, type Trial } from '../subject.ts';
import { freePort, type Protocol, serverPod, serving } from './servers.ts';

type Probe = NonNullable<Container['readinessProbe']>;

/** A kind of probe that connects to a pod: one that succeeds at its server, and one that fails. */
interface Kind {
  readonly protocol: Protocol;
  readonly succeeds: (port: number) => Probe;
  readonly fails: (port: number) => Probe;
}

const readyOf = (pod: Pod | undefined, name: string): boolean | undefined =>
  pod?.status?.containerStatuses?.find((one) => one.name === name && one.state?.running)?.ready;

/** A pod whose `main` serves and has a probe that succeeds, and whose `other` has one that fails. */
async function probedPod(t: Trial, { protocol, succeeds, fails }: Kind): Promise<Pod> {
  const port = await freePort();
  const pod = serverPod(t, protocol, port);
  const each = { periodSeconds: 1, timeoutSeconds: 30 };
  const [main] = pod.spec?.containers ?? [];
  const containers = [
    ...(main ? [{ ...main, readinessProbe: { ...each, ...succeeds(port) } }] : []),
    { ...t.container('other'), readinessProbe: { ...each, ...fails(port) } },
  ];
  return t.behaving({ ...pod, spec: { ...pod.spec, containers } }, {}, 'other');
}

async function check(t: Trial, kind: Kind): Promise<void> {
  const node = await t.node();
  const pod = node.create(await probedPod(t, kind));
  const seen = (): string =>
    `main is ready: ${String(readyOf(node.pod(pod), 'main'))}, other is ready: ${String(readyOf(node.pod(pod), 'other'))}`;
  const fits = (): boolean =>
    readyOf(node.pod(pod), 'main') === true && readyOf(node.pod(pod), 'other') === false;
  await node.until(fits, seen);
  await t.pass(2500);
  expect(fits(), seen);
}

const clause = (name: string, law: string, kind: Kind): Clause => ({
  ...{ name, area: 'probes', rule: 'R237', law },
  needs: (world) =>
    (world.provider.probedBy === 'provider' ? needing(['probes'])(world) : undefined) ??
    serving(kind.protocol)(world),
  check: (t) => check(t, kind),
});

export const networkProbes: readonly Clause[] = [
  clause(
    'http-probes-decide',
    "A container is ready when the HTTP request of its readiness probe to the pod's address is answered with a status from 200 to 399, and not with another.",
    {
      protocol: 'http',
      succeeds: (port) => ({ httpGet: { path: '/healthy', port } }),
      fails: (port) => ({ httpGet: { path: '/absent', port } }),
    },
  ),
  clause(
    'tcp-probes-decide',
    "A container is ready when the TCP port of its readiness probe is open at the pod's address, and not when nothing listens there.",
    {
      protocol: 'http',
      succeeds: (port) => ({ tcpSocket: { port } }),
      fails: () => ({ tcpSocket: { port: 1 } }),
    },
  ),
  clause(
    'grpc-probes-decide',
    "A container is ready when the gRPC health service at the pod's address says SERVING, and not when it does not know the service of the probe.",
    {
      protocol: 'grpc',
      succeeds: (port) => ({ grpc: { port } }),
      fails: (port) => ({ grpc: { port, service: 'absent' } }),
    },
  ),
];
