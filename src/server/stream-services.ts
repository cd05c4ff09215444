import { createWebSocketStream } from 'ws';
import type { Clock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import { goQuote } from '../go/go-quote.ts';
import { uidOf } from '../kube/names.ts';
import type { Pod } from '../kube/types.ts';
import type { ContainerRef } from '../provider/refs.ts';
import { refOf } from './container-logs.ts';
import type { ServerHost } from './host.ts';
import { bothOf } from './kubelet-services.ts';
import { runningOnly } from './pod-lists.ts';
import {
  channelProtocols,
  type ForwardTarget,
  portForwardProtocol,
  portsOf,
  serveChannels,
  servePortForward,
  tunnelProtocol,
} from './port-forward.ts';
import {
  type Command,
  noStreamsText,
  serveCommand,
  type StreamOptions,
  streamOptionsOf,
} from '../streams/remote-command.ts';
import { type Reply, type ServerRequest, text } from './reply.ts';
import type { Call, Service } from './services.ts';
import { remoteCommandProtocols, spdyRemoteStreams } from '../streams/spdy/remote-streams.ts';
import { proxied } from './stream-proxy.ts';
import {
  acceptSpdy,
  forbidden,
  isSpdy,
  isWebSocket,
  negotiate,
  replyUpgrade,
  upgradeRequired,
} from './upgrade.ts';
import type { StreamTimes } from '../streams/times.ts';
import { acceptWebSocket, chooseProtocol } from '../streams/websocket.ts';
import { webSocketProtocols, webSocketStreams } from '../streams/websocket-streams.ts';

export interface StreamDeps {
  readonly host: ServerHost;
  readonly clock: Clock;
  readonly times: StreamTimes;
}

interface Target {
  readonly pod: Pod;
  readonly container: string;
}

/** Returns the services `/exec`, `/attach`, `/portForward` and `/run`. */
export function streamServices(deps: StreamDeps): readonly Service[] {
  const methods = ['GET', 'POST'];
  return [
    { patterns: bothOf('/exec'), routes: [{ methods, parts: [3, 4], handle: (call) => exec(deps, call) }] },
    {
      patterns: bothOf('/attach'),
      routes: [{ methods, parts: [3, 4], handle: (call) => attach(deps, call) }],
    },
    {
      patterns: bothOf('/portForward'),
      routes: [{ methods, parts: [2, 3], handle: (call) => portForward(deps, call) }],
    },
    {
      patterns: bothOf('/run'),
      routes: [{ methods: ['POST'], parts: [3, 4], handle: (call) => run(deps, call) }],
    },
  ];
}

const podMissing = text(404, 'pod does not exist');

/** Returns the pod and container of a path `{namespace}/{pod}[/{uid}]/{container}`. */
function targetOf({ host }: StreamDeps, parts: readonly string[]): Target | undefined {
  const [namespace = '', name = ''] = parts;
  const pod = host.podByName(namespace, name);
  return pod && { pod, container: parts.at(-1) ?? '' };
}

/** Returns the running instance of a container, or undefined. A UID in the path is ignored: the kubelet finds pods by name. */
async function running({ host }: StreamDeps, { pod, container }: Target): Promise<ContainerRef | undefined> {
  const pods = runningOnly(await host.runningPods());
  const found = pods.find((one) => one.uid === uidOf(pod))?.containers.find(({ name }) => name === container);
  return found && refOf(pod, container, found.id);
}

const fullName = ({ metadata }: Pod): string => `${metadata?.name ?? ''}_${metadata?.namespace ?? ''}`;

async function exec(deps: StreamDeps, call: Call): Promise<Reply> {
  const options = streamOptionsOf(call.query);
  if (!options) return text(400, noStreamsText);
  const target = targetOf(deps, call.parts);
  if (!target) return podMissing;
  const container = await running(deps, target);
  if (!container) return text(500, `container not found (${goQuote(target.container)})`);
  const command = call.query.getAll('command');
  const { streamUrls, exec: execIn } = deps.host;
  if (streamUrls)
    return proxied(deps, call.request, {
      kind: 'command',
      options,
      url: () => streamUrls.exec(container, command, options),
    });
  if (!execIn) return unable('run commands in containers');
  return live(deps, call.request, options, {
    verb: 'executing command in',
    command: (io, signal) => execIn(container, command, io, signal),
  });
}

async function attach(deps: StreamDeps, call: Call): Promise<Reply> {
  const options = streamOptionsOf(call.query);
  if (!options) return text(400, noStreamsText);
  const target = targetOf(deps, call.parts);
  if (!target) return podMissing;
  const container = await running(deps, target);
  if (!container) return text(500, `container ${target.container} not found in pod ${fullName(target.pod)}`);
  const { streamUrls, attach: attachTo } = deps.host;
  if (streamUrls)
    return proxied(deps, call.request, {
      kind: 'command',
      options,
      url: () => streamUrls.attach(container, options),
    });
  if (!attachTo) return unable('attach to containers');
  return live(deps, call.request, options, {
    verb: 'attaching to',
    command: async (io, signal) => {
      await attachTo(container, io, signal);
      return 0;
    },
  });
}

const unable = (what: string): Reply => text(501, `this provider cannot ${what}`);

interface LiveCommand {
  readonly command: Command;
  readonly verb: 'executing command in' | 'attaching to';
}

/** Serves a command over the protocol that the client upgrades to. */
function live(
  deps: StreamDeps,
  request: ServerRequest,
  options: StreamOptions,
  { command, verb }: LiveCommand,
): Reply {
  const { clock, times } = deps;
  if (isWebSocket(request)) {
    const protocol = chooseProtocol(request, webSocketProtocols);
    if (protocol === undefined) return forbidden;
    return replyUpgrade(async (socket, head) => {
      const web = await acceptWebSocket(request, socket, head, protocol);
      await serveCommand(webSocketStreams(web, protocol, options, clock), command, verb);
    });
  }
  if (!isSpdy(request)) return upgradeRequired;
  const chosen = negotiate(request, remoteCommandProtocols, true);
  if ('refusal' in chosen) return chosen.refusal;
  const { protocol } = chosen;
  return replyUpgrade(async (socket, head) => {
    acceptSpdy(socket, protocol);
    await serveCommand(
      await spdyRemoteStreams(socket, head, { protocol, options, clock, times }),
      command,
      verb,
    );
  });
}

async function portForward(deps: StreamDeps, call: Call): Promise<Reply> {
  const { request, query, parts } = call;
  const tunnelled = isWebSocket(request) && chooseProtocol(request, [tunnelProtocol]) !== undefined;
  let ports: readonly number[] = [];
  try {
    if (isWebSocket(request) && !tunnelled) ports = portsOf(query);
  } catch (reason) {
    return text(400, messageOf(reason));
  }
  const [namespace = '', name = '', uid] = parts;
  const pod = deps.host.podByName(namespace, name);
  if (!pod) return podMissing;
  if (uid !== undefined && uid !== uidOf(pod)) return text(404, 'pod not found');
  const runs = runningOnly(await deps.host.runningPods()).some((one) => one.uid === uidOf(pod));
  if (!runs) return text(500, `pod not found (${goQuote(fullName(pod))})`);
  return forwarded(deps, request, { podUid: uidOf(pod), ports, tunnelled });
}

interface Forwarding {
  readonly podUid: string;
  readonly ports: readonly number[];
  readonly tunnelled: boolean;
}

function forwarded(
  deps: StreamDeps,
  request: ServerRequest,
  { podUid, ports, tunnelled }: Forwarding,
): Promise<Reply> | Reply {
  const { streamUrls, portForward: forwardTo } = deps.host;
  if (streamUrls)
    return proxied(deps, request, {
      kind: 'ports',
      ports,
      podUid,
      url: () => streamUrls.portForward(podUid, ports),
    });
  if (!forwardTo) return unable('forward ports');
  const target: ForwardTarget = {
    podUid,
    forward: (port, stream, signal) => forwardTo(podUid, port, stream, signal),
  };
  if (tunnelled)
    return replyUpgrade(async (socket, head) => {
      const web = await acceptWebSocket(request, socket, head, tunnelProtocol);
      await servePortForward(createWebSocketStream(web), Buffer.alloc(0), target, deps);
    });
  if (isWebSocket(request)) {
    const protocol = chooseProtocol(request, channelProtocols);
    if (protocol === undefined) return forbidden;
    return replyUpgrade(async (socket, head) => {
      const web = await acceptWebSocket(request, socket, head, protocol);
      await serveChannels(web, protocol, ports, { ...target, clock: deps.clock });
    });
  }
  if (!isSpdy(request)) return upgradeRequired;
  const chosen = negotiate(request, [portForwardProtocol], false);
  if ('refusal' in chosen) return chosen.refusal;
  return replyUpgrade(async (socket, head) => {
    acceptSpdy(socket, chosen.protocol);
    await servePortForward(socket, head, target, deps);
  });
}

/** Answers `POST /run/…?cmd=`: arguments are separated by spaces, without quoting. Follows kubelet `getRun`. */
async function run(deps: StreamDeps, { request, query, parts }: Call): Promise<Reply> {
  const target = targetOf(deps, parts);
  if (!target) return podMissing;
  const container = await running(deps, target);
  if (!container) return text(500, `container not found (${goQuote(target.container)})`);
  const { run: runIn } = deps.host;
  if (!runIn) return unable('run commands in containers');
  const line = query.get('cmd') ?? '';
  try {
    const { exitCode, stdout, stderr } = await runIn(container, line.split(' '), request.signal);
    const output = Buffer.concat([stdout, stderr]);
    if (exitCode !== 0) return text(500, `command '${line}' exited with ${exitCode}: ${output.toString()}`);
    return { status: 200, headers: { 'Content-Type': 'application/json' }, body: output };
  } catch (reason) {
    return text(500, messageOf(reason));
  }
}
