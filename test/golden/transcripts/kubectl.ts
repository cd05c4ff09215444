import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { subscribe } from 'node:diagnostics_channel';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createApiClient } from '../../../src/api/rest/http-client.ts';
import { leaseResource, namespaceResource, nodeResource, podResource } from '../../../src/api/resources.ts';
import { systemClock as clock } from '../../../src/base/clock.ts';
import type { Lease } from '../../../src/kube/types.ts';
import { whyNoContainerd } from '../../support/containerd.ts';
import { tokenKubeconfig } from '../../support/token-kubeconfig.ts';
import { kubectls, noKubectl } from '../../e2e/kubectl.ts';
import { type Front, makeFront, stopFront } from './front.ts';
import { stopSharedBed } from './kubelet-bed.ts';
import type { Deviation, Player, Step, TranscriptCase } from './transcript.ts';

/** One recorded run of kubectl. */
interface KubectlStep extends Step {
  readonly command: string;
  readonly stdin?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly requests: readonly { readonly method: string; readonly path: string; readonly status: number }[];
  readonly exitCode: number | null;
  /** The recorder stopped it: it goes on for ever. */
  readonly killedAfterTimeout: boolean;
  readonly stdout: string;
  readonly stderr: string;
}

interface Outcome {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly requests: readonly string[];
}

/** The address of the recorder's node and pods. */
const recordedHost = '198.51.100.7';
/** Asks nobody, and shows how the recorder reached his server. */
const clientOnly = new Set(['kubectl/config-view']);
/** What goes on for ever is ended once it has said what was recorded, or then, ms. */
const patienceMs = 15_000;
/** The recordings end there. */
const mostRecorded = 1400;

const nodeStatus = {
  capacity: { cpu: '2', memory: '4Gi', pods: '110' },
  allocatable: { cpu: '2', memory: '4Gi', pods: '110' },
  conditions: [
    {
      type: 'Ready',
      status: 'True',
      reason: 'KubeletReady',
      message: 'm',
      lastHeartbeatTime: '2020-01-01T00:00:00Z',
      lastTransitionTime: '2020-01-01T00:00:00Z',
    },
  ],
  nodeInfo: {
    ...{ machineID: 'm', systemUUID: 's', bootID: 'b', kernelVersion: 'k', osImage: 'o' },
    ...{ operatingSystem: 'linux', architecture: 'amd64', containerRuntimeVersion: 'containerd://1' },
    ...{ kubeletVersion: 'v1.36.2', kubeProxyVersion: '' },
  },
};

/** The pods that the recorder's server knew: what they say is written down, not observed. */
const pods: Readonly<Record<string, { readonly nodeName?: string; readonly phase?: string }>> = {
  again: { nodeName: 'node-p' },
  dead: { nodeName: 'node-dead' },
  done: { nodeName: 'node-p', phase: 'Succeeded' },
  noaddr: { nodeName: 'node-noaddr' },
  nonode: { nodeName: 'node-zzz' },
  nopod: { nodeName: 'node-p' },
  two: { nodeName: 'node-p' },
  web: { nodeName: 'node-p' },
};

/** Makes the world of a {@link Front} the one that the recorder's kubectl saw. */
async function furnish({ server }: Front): Promise<void> {
  const admin = createApiClient({ server: server.url, ca: server.ca, ...server.admin }, { clock, qps: 0 });
  for (const name of ['node-p', 'node-dead', 'node-noaddr']) {
    const labels = { 'kubernetes.io/hostname': name, 'kubernetes.io/os': 'linux' };
    await admin.patch(nodeResource, { name }, { type: 'merge', body: { metadata: { labels } } });
    const patch = { type: 'merge', body: { status: nodeStatus } } as const;
    await admin.patch(nodeResource, { name }, patch, { subresource: 'status' });
  }
  await admin.create(namespaceResource, { metadata: { name: 'kt1' } });
  const lease = {
    metadata: { name: 'node-a', namespace: 'kube-node-lease' },
    spec: { holderIdentity: 'node-a' },
  };
  await admin.create<Lease>(leaseResource, lease);
  for (const { metadata } of (await admin.list(podResource, { namespace: 'kp' })).items)
    await admin.delete(
      podResource,
      { namespace: 'kp', name: metadata?.name ?? '' },
      { gracePeriodSeconds: 0 },
    );
  for (const [name, { nodeName, phase = 'Running' }] of Object.entries(pods)) {
    const tty = name === 'again' ? { stdin: true, tty: true } : {};
    const containers = (name === 'two' ? ['a', 'b'] : ['c']).map((one) => ({
      name: one,
      image: 'x',
      ...tty,
    }));
    const initContainers = name === 'two' ? [{ name: 'i', image: 'x' }] : undefined;
    const metadata = { name, namespace: 'kp' };
    await admin.create(podResource, { metadata, spec: { nodeName, containers, initContainers } });
    const status = {
      phase,
      podIP: recordedHost,
      podIPs: [{ ip: recordedHost }],
      conditions: [{ type: 'Ready', status: 'True' }],
      containerStatuses: containers.map((one) => ({
        ...{ name: one.name, image: 'x', imageID: 'x', ready: true, restartCount: 0 },
        state: { running: { startedAt: '2020-01-01T00:00:00Z' } },
      })),
    };
    const patch = { type: 'merge', body: { status } } as const;
    await admin.patch(podResource, { namespace: 'kp', name }, patch, { subresource: 'status' });
  }
  await admin.close();
}

/** The recorder joined words by spaces: those in quotes had some, or were JSON. */
const wordsOf = (command: string): string[] =>
  Array.from(command.matchAll(/"([^"]*)"(?= |$)|(\S+)/g), ([, quoted, plain]) => quoted ?? plain ?? '').slice(
    1,
  );

/** What is asked of a server of this process, upgrades excepted. */
interface Asked {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** The server's; a socket that is closed no longer tells. */
  readonly port: number | undefined;
}
const asked: Asked[] = [];
let listening = false;
function listen(): void {
  if (listening) return;
  listening = true;
  subscribe('http.server.request.start', (message) => {
    const exchange = message as Omit<Asked, 'port'>;
    asked.push({ ...exchange, port: exchange.request.socket.localPort });
  });
}

/** Discovery depends on what kubectl remembers. */
const isDiscovery = (url: string): boolean => /^\/(api|apis|openapi|version)(\?|$|\/v[23])/.test(url);

async function run(front: Front, dir: string, step: KubectlStep): Promise<Outcome> {
  asked.length = 0;
  const child = spawn(kubectls[0]?.path ?? 'kubectl', wordsOf(step.command), {
    env: {
      ...process.env,
      ...{ KUBECONFIG: join(dir, 'kubeconfig'), HOME: dir, KUBECACHEDIR: join(dir, 'cache') },
      ...step.env,
    },
  });
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (chunk: Buffer) => {
    stdout += chunk.toString();
    tryForwarded(chunk.toString());
  });
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  child.stdin.on('error', () => undefined);
  child.stdin.end(step.stdin ?? '');
  const closed = once(child, 'close') as Promise<[number | null]>;
  const outcome = (exitCode: number | null): Outcome => ({
    ...{ exitCode, stdout: stdout.replaceAll(front.host, recordedHost), stderr },
    requests: asked
      .filter(({ request, port }) => port === front.server.port && !isDiscovery(request.url ?? ''))
      .map(({ request, response }) => `${request.method ?? ''} ${request.url ?? ''} ${response.statusCode}`),
  });
  const done = (): boolean => step.killedAfterTimeout && differences(step, outcome(null)).length === 0;
  const startedAt = clock.now();
  const looks = setInterval(() => {
    if (done() || clock.now() - startedAt > patienceMs) child.kill();
  }, 50);
  const [exitCode] = await closed;
  clearInterval(looks);
  return outcome(exitCode);
}

/** The recorder tried what was forwarded. */
function tryForwarded(text: string): void {
  const [, port] = /Forwarding from 127\.0\.0\.1:(\d+)/.exec(text) ?? [];
  if (port === undefined) return;
  const socket = connect(Number(port), '127.0.0.1');
  socket.on('error', () => undefined).end();
}

/** Times, ages, names that are drawn, and addresses: all that no two runs have in common. */
const common = (text: string): string =>
  text
    .split('\n')
    .filter((line) => !/\bnode-a\b|^(---|\+\+\+|diff) |^E\d{4} |"metadata":\{"annotations"/.test(line))
    .join('\n')
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z|\$t\d+/g, 'T')
    .replace(/[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} [\d:]+ [+-]\d{4}/g, 'T')
    // before ages: a part of a UID may look like one (432d)
    .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\$uid\d+/g, 'UID')
    .replace(/\b(\d+[smhdy])+\b/g, 'AGE')
    .replace(/"?resourceVersion"?: "[^"]*"/g, 'resourceVersion')
    .replace(/kube-api-access-[\w$]+/g, 'kube-api-access')
    .replace(/v1\.36\.2\+podtender/, 'v1.36.2')
    .replace(/[ \t]+/g, ' ')
    .replace(/ $/gm, '');

const commonRequest = (request: string): string =>
  request
    .replace(/(resourceVersion=)[1-9]\d*/, '$1')
    .replace(/(timeoutSeconds|continue)=[^& ]+/g, '$1')
    .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\$uid\d+/g, 'UID')
    // fields of a selector come as a map of Go's gives them
    .replace(
      /fieldSelector=([^& ]+)/,
      (_, fields: string) => `fieldSelector=${fields.split('%2C').sort().join()}`,
    );

/** Which line of a container's two streams comes first is chance, and so is which is the last. */
const linesOf = ({ command }: KubectlStep, text: string): string => {
  if (!command.startsWith('kubectl logs')) return text;
  const lines = text.split('\n').sort().join('\n');
  return command.includes('--tail') ? lines.replace(/\b(out|err)\d\b/g, 'line') : lines;
};

function differences(step: KubectlStep, outcome: Outcome): Omit<Deviation, 'step'>[] {
  const found: Omit<Deviation, 'step'>[] = [];
  const tell = (what: string, expected: unknown, actual: unknown): void => {
    if (expected !== actual) found.push({ what, path: step.command, expected, actual });
  };
  for (const stream of ['stdout', 'stderr'] as const) {
    const [expected, actual] = [step[stream], outcome[stream]].map((text) => linesOf(step, common(text)));
    const cut = step[stream].length >= mostRecorded ? (expected?.length ?? 0) - 60 : Infinity;
    tell(stream, expected?.slice(0, cut), actual?.slice(0, cut));
  }
  if (!step.killedAfterTimeout) tell('exit code', step.exitCode, outcome.exitCode);
  const wanted = step.requests
    .filter(({ path, status }) => status !== 101 && !isDiscovery(path))
    .map(({ method, path, status }) => commonRequest(`${method} ${path} ${status}`));
  tell('requests', wanted.sort().join('\n'), outcome.requests.map(commonRequest).sort().join('\n'));
  return found;
}

async function playIn(front: Front, one: TranscriptCase): Promise<readonly Deviation[]> {
  const dir = mkdtempSync(join(tmpdir(), 'pt-kubectl-'));
  try {
    writeFileSync(join(dir, 'kubeconfig'), tokenKubeconfig(front.server, 'admin-token'), { mode: 0o600 });
    const found: Deviation[] = [];
    const steps = (one.steps ?? []) as readonly KubectlStep[];
    for (const [index, step] of steps.entries())
      for (const one of differences(step, await run(front, dir, step))) found.push({ step: index, ...one });
    return found;
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

/** Runs the recorded commands with a real kubectl against the embedded server before a real kubelet API: what it prints, and what it asks. */
export const kubectlPlayer: Player = {
  families: new Set(['kubectl']),
  async play(one) {
    const why = noKubectl ?? whyNoContainerd();
    if (why !== undefined) throw new Error(`cannot be played here: ${why}`);
    if (clientOnly.has(one.id)) return [];
    listen();
    const front = await makeFront();
    try {
      await furnish(front);
      return await playIn(front, one);
    } finally {
      await stopFront(front);
    }
  },
  async close() {
    await stopSharedBed();
  },
};
