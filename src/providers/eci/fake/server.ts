import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';
import { type Clock, systemClock } from '../../../base/clock.ts';
import { FakeCloud, isProtocolParameter } from './cloud.ts';
import { type FaultRule, Faults } from './faults.ts';
import { type FakeGroup, tags } from './group.ts';
import { FakeFault, list, type SentParameters, text, unflatten } from './request.ts';
import { type FakeCommand, type FakeTerminalSize, runCommand, serveCommand } from './terminal.ts';
import { viewOf } from './timeline.ts';
import { type ArrivedRequest, type FakeAccessKey, Verifier } from './verify.ts';

/** What {@link startFakeEci} is given. */
export interface FakeEciOptions {
  /** The key pairs that are accepted; default: `fake-id` with `fake-secret`. */
  readonly accessKeys?: readonly FakeAccessKey[];
  /** By which groups live; default: the machine's. */
  readonly clock?: Clock;
  /** How long each answer takes, ms. */
  readonly latency?: number;
  readonly faults?: readonly FaultRule[];
}

/** A call that the double received. */
export interface FakeCall {
  readonly action: string;
  readonly parameters: SentParameters;
  /** ms since the epoch */
  readonly at: number;
  /** The HTTP status, or the name of the fault that was played. */
  outcome: string;
}

/** A group as tests look at it. */
export interface FakeGroupView {
  readonly id: string;
  readonly name: string;
  readonly uid: string;
  /** The pod's name, as the tag `PodName` says. */
  readonly pod: string;
  readonly status: string;
  readonly containers: readonly {
    readonly name: string;
    readonly running: boolean;
    readonly restartCount: number;
  }[];
  readonly parameters: SentParameters;
}

/** A running double of the service. */
export interface FakeEci {
  readonly url: string;
  /** The groups that are there now, those that are being deleted too. */
  readonly groups: readonly FakeGroupView[];
  /** All groups that were ever made, in order. */
  readonly created: readonly { readonly id: string; readonly uid: string }[];
  readonly calls: readonly FakeCall[];
  /** May be changed at any time. */
  readonly faults: FaultRule[];
  /** Sizes of terminals that clients have sent. */
  readonly terminalSizes: readonly FakeTerminalSize[];
  /** Number of listings that omit a group created from now on. */
  hideNewGroups(listings: number): void;
  /** Makes a group vanish, as when somebody deletes it in the console. */
  forget(groupId: string): void;
  /** Answers requests without a socket, for tests whose clock stands still: `new EciProvider({ fetch: eci.fetch, … })`. */
  readonly fetch: typeof globalThis.fetch;
  stop(): Promise<void>;
}

/**
 * startFakeEci starts a double of Alibaba Cloud's ECI on a loopback port: it verifies signatures, validates parameters and plays container
 * groups by the names of their images. For tests and examples; commands run as local processes.
 *
 * @example
 * const eci = await startFakeEci();
 * const provider = new EciProvider({ endpoint: eci.url, accessKeyId: 'fake-id', accessKeySecret: 'fake-secret', … });
 */
export async function startFakeEci(options: FakeEciOptions = {}): Promise<FakeEci> {
  const service = new FakeService(options);
  await service.listen();
  return service;
}

class FakeService implements FakeEci {
  readonly calls: FakeCall[] = [];
  readonly terminalSizes: FakeTerminalSize[] = [];
  readonly #clock: Clock;
  readonly #latencyMs: number;
  readonly #faults: Faults;
  readonly #verifier: Verifier;
  readonly #cloud = new FakeCloud();
  readonly #sessions = new Map<string, FakeCommand>();
  readonly #sockets = new WebSocketServer({ noServer: true });
  readonly #server: Server;

  constructor({ accessKeys, clock = systemClock, latency = 0, faults = [] }: FakeEciOptions) {
    this.#clock = clock;
    this.#latencyMs = latency;
    this.#faults = new Faults(faults);
    this.#verifier = new Verifier(accessKeys ?? [{ accessKeyId: 'fake-id', accessKeySecret: 'fake-secret' }]);
    // all parameters travel in the URL
    this.#server = createServer(
      { maxHeaderSize: 1024 * 1024 },
      (request, response) => void this.#serve(request, response),
    );
    this.#server.on('upgrade', (request, socket, head) => {
      const session = this.#sessions.get(
        new URL(request.url ?? '/', 'ws://double').searchParams.get('session') ?? '',
      );
      if (!session) {
        socket.destroy();
        return;
      }
      this.#sockets.handleUpgrade(request, socket, head, (webSocket: WebSocket) => {
        serveCommand(webSocket, session, (size) => this.terminalSizes.push(size));
      });
    });
  }

  listen(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.listen(0, '127.0.0.1', resolve);
    });
  }

  get url(): string {
    return `http://127.0.0.1:${String((this.#server.address() as AddressInfo).port)}`;
  }

  get faults(): FaultRule[] {
    return this.#faults.rules;
  }

  get groups(): readonly FakeGroupView[] {
    const now = this.#clock.now();
    return this.#cloud.present(now).map((group) => viewAt(group, now));
  }

  get created(): readonly { readonly id: string; readonly uid: string }[] {
    return this.#cloud.created;
  }

  hideNewGroups(listings: number): void {
    this.#cloud.hiddenListings = listings;
  }

  forget(groupId: string): void {
    this.#cloud.forget(groupId);
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets.clients) socket.terminate();
    await new Promise<void>((resolve) => {
      this.#server.close(() => {
        resolve();
      });
      this.#server.closeAllConnections();
    });
  }

  /**
   * Answers requests without a socket, for tests whose clock stands still: `new EciProvider({ fetch: eci.fetch, … })`.
   */
  readonly fetch = async (input: string | URL | Request, init: RequestInit = {}): Promise<Response> => {
    const url = new URL(input instanceof Request ? input.url : input);
    const headers = { ...Object.fromEntries(new Headers(init.headers)), host: url.host };
    const query = Object.fromEntries(url.searchParams);
    const outcome = await this.#respond({
      method: init.method ?? 'GET',
      path: url.pathname,
      query,
      headers,
      body: '',
    });
    switch (outcome.broken) {
      case 'reset':
        throw new TypeError('fetch failed', { cause: new Error('read ECONNRESET') });
      case 'hang':
        return new Promise((_, reject) => {
          init.signal?.addEventListener('abort', () => {
            reject(init.signal?.reason as Error);
          });
        });
      default:
        return new Response(outcome.broken === 'half' ? '{"RequestId":"' : outcome.text, {
          status: outcome.status,
          headers: outcome.headers,
        });
    }
  };

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { status, headers, text: body, broken } = await this.#respond(await arrivedOf(request));
    if (broken === 'hang') return;
    if (broken === 'reset') {
      response.socket?.resetAndDestroy();
      return;
    }
    if (broken === 'half') {
      response.writeHead(200, { 'content-length': '1000' });
      response.write('{"RequestId":"', () => response.socket?.destroy());
      return;
    }
    response.writeHead(status, headers);
    response.end(body);
  }

  async #respond(arrived: ArrivedRequest): Promise<Outcome> {
    const action = arrived.query['Action'] ?? arrived.headers['x-acs-action'] ?? '';
    const parameters = unflatten(
      Object.entries(arrived.query).filter(([name]) => !isProtocolParameter(name)),
    );
    const call: FakeCall = { action, parameters, at: this.#clock.now(), outcome: '' };
    this.calls.push(call);
    if (this.#latencyMs > 0) await this.#clock.sleep(this.#latencyMs);
    const fault = this.#faults.next(action);
    if (fault && fault.afterEffect !== true) return faultOutcome(fault, call);
    const { status, body } = await this.#answer(arrived, action, parameters);
    if (fault) return faultOutcome(fault, call);
    call.outcome = String(status);
    return outcomeOf(status, body);
  }

  async #answer(
    arrived: ArrivedRequest,
    action: string,
    parameters: SentParameters,
  ): Promise<{ status: number; body: object }> {
    const RequestId = randomUUID().toUpperCase();
    try {
      this.#verifier.verify(arrived, this.#clock.now());
      return { status: 200, body: { RequestId, ...(await this.#act(action, parameters)) } };
    } catch (reason) {
      if (!(reason instanceof FakeFault)) throw reason;
      return { status: reason.status, body: errorBody(reason.code, reason.message, RequestId) };
    }
  }

  async #act(action: string, parameters: SentParameters): Promise<object> {
    const now = this.#clock.now();
    if (action === 'ExecContainerCommand') return this.#exec(parameters, now);
    const play = actions.get(action);
    if (!play) throw new FakeFault(404, 'InvalidAction.NotFound', `Specified api ${action} is not found.`);
    return play(this.#cloud, parameters, now);
  }

  async #exec(parameters: SentParameters, now: number): Promise<object> {
    const { name } = this.#cloud.container(parameters, now);
    const command = JSON.parse(text(parameters, 'Command') ?? '[]') as string[];
    const session: FakeCommand = {
      command,
      env: this.#environmentOf(parameters, name),
      tty: text(parameters, 'TTY') === 'true',
    };
    if (text(parameters, 'Sync') === 'true') return { SyncResponse: (await runCommand(session)).output };
    const id = randomUUID();
    this.#sessions.set(id, session);
    return {
      WebSocketUri: `${this.url.replace('http', 'ws')}/exec?session=${id}`,
      HttpUrl: `${this.url}/console?session=${id}`,
    };
  }

  #environmentOf(parameters: SentParameters, container: string): Readonly<Record<string, string>> {
    const group = this.#cloud
      .present(this.#clock.now())
      .find(({ id }) => id === text(parameters, 'ContainerGroupId'));
    const found = list(group?.parameters ?? {}, 'Container').find((one) => text(one, 'Name') === container);
    return Object.fromEntries(
      list(found ?? {}, 'EnvironmentVar').map((variable) => [
        text(variable, 'Key') ?? '',
        text(variable, 'Value') ?? group?.ip ?? '',
      ]),
    );
  }
}

function viewAt({ id, name, uid, course, parameters }: FakeGroup, now: number): FakeGroupView {
  const { status, init, regular } = viewOf(course, now);
  const containers = [...init, ...regular].map(({ name: container, lives }) => ({
    name: container,
    running: lives.at(-1) !== undefined && lives.at(-1)?.finishedAt === undefined,
    restartCount: Math.max(0, lives.length - 1),
  }));
  return { id, name, uid, pod: tags(parameters).get('PodName') ?? '', status, containers, parameters };
}

async function arrivedOf(request: IncomingMessage): Promise<ArrivedRequest> {
  const url = new URL(request.url ?? '/', 'http://double');
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return {
    method: request.method ?? '',
    path: url.pathname,
    query: Object.fromEntries(url.searchParams),
    headers: Object.fromEntries(
      Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
    ),
    body: Buffer.concat(parts).toString(),
  };
}

type Play = (cloud: FakeCloud, parameters: SentParameters, now: number) => object;

/** What each action does. */
const actions = new Map<string, Play>([
  ['CreateContainerGroup', (cloud, parameters, now) => cloud.create(parameters, now)],
  ['DeleteContainerGroup', (cloud, parameters, now) => cloud.delete(parameters, now)],
  ['RestartContainerGroup', (cloud, parameters, now) => cloud.restart(parameters, now)],
  ['UpdateContainerGroup', (cloud, parameters, now) => cloud.update(parameters, now)],
  ['DescribeContainerGroups', (cloud, parameters, now) => cloud.describe(parameters, now)],
  ['DescribeContainerGroupStatus', (cloud, parameters, now) => cloud.describeStatus(parameters, now)],
  ['DescribeContainerGroupEvents', (cloud, parameters, now) => cloud.describeEvents(parameters, now)],
  ['DescribeContainerLog', (cloud, parameters, now) => cloud.log(parameters, now)],
  ['DescribeMultiContainerGroupMetric', (cloud, parameters, now) => cloud.metrics(parameters, now)],
  [
    'DescribeRegions',
    () => ({
      Regions: [
        {
          RegionId: 'cn-hangzhou',
          RegionEndpoint: 'eci.cn-hangzhou.aliyuncs.com',
          Zones: ['cn-hangzhou-a'],
        },
      ],
    }),
  ],
  ['ListUsage', () => ({ Attributes: { CpuQuota: '1000', EciQuota: '1000' } })],
]);

/** An answer, or how the connection breaks instead. */
interface Outcome {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  readonly broken?: 'reset' | 'half' | 'hang';
}

const outcomeOf = (
  status: number,
  body: object,
  headers: Readonly<Record<string, string>> = {},
): Outcome => ({
  status,
  headers: { 'content-type': 'application/json;charset=utf-8', ...headers },
  text: JSON.stringify(body),
});

function faultOutcome({ kind, code, retryAfterSeconds }: FaultRule, call: FakeCall): Outcome {
  call.outcome = kind;
  switch (kind) {
    case 'throttle': {
      const headers = retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) };
      return outcomeOf(
        429,
        errorBody('Throttling.User', 'Request was denied due to user flow control.'),
        headers,
      );
    }
    case 'error':
      return outcomeOf(500, errorBody('InternalError', 'The request has failed due to some unknown error.'));
    case 'refuse':
      return outcomeOf(403, errorBody(code ?? 'Forbidden.RAM', 'The request was refused.'));
    default:
      return { ...outcomeOf(200, {}), broken: kind };
  }
}

const errorBody = (Code: string, Message: string, RequestId = randomUUID().toUpperCase()): object => ({
  RequestId,
  HostId: 'eci.double',
  Code,
  Message,
  Recommend: '',
});
