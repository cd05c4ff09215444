import type { Clock } from '../../base/clock.ts';
import { AgentError, messageOf } from '../../base/errors.ts';
import { type HttpClient, httpGet } from '../../go/http/client.ts';
import type { HttpGetRequest } from '../../go/http/request.ts';
import { plainAnswer } from '../../go/http/tls-fault.ts';
import { GoUrl, textOf } from '../../go/url.ts';
import type { EventRecorder } from '../../kube/events.ts';
import { goQuote } from '../../go/go-quote.ts';
import { httpGetRequest } from '../../kube/http-get-action.ts';
import type { Container, Pod } from '../../kube/types.ts';
import type { ContainerRuntime } from '../../provider/container-runtime.ts';
import { podText } from '../container/backoff.ts';
import { runtimeId } from './config/convert.ts';
import type { HookCounts } from '../container/counts.ts';

type Handler = NonNullable<NonNullable<Container['lifecycle']>['postStart']>;

/** The container that a hook runs for. */
export interface HookTarget {
  readonly pod: Pod;
  readonly container: Container;
  /** `type://id` */
  readonly id: string;
}

export interface HookRunnerDeps {
  readonly runtime: Pick<ContainerRuntime, 'execSync'>;
  readonly clock: Clock;
  readonly recorder: EventRecorder;
  /** Metrics of hooks; absent: not counted. */
  readonly counts?: HookCounts;
  /** Returns the pod's current addresses from the runtime. */
  readonly podIps: (pod: Pod) => Promise<readonly string[]>;
}

/** HookRunner runs postStart and preStop handlers. Follows `handlerRunner` (pkg/kubelet/lifecycle). */
export class HookRunner {
  readonly #deps: HookRunnerDeps;

  constructor(deps: HookRunnerDeps) {
    this.#deps = deps;
  }

  /**
   * Runs a handler. @throws {AgentError} with the message for the waiting state; it may contain the hook's output, so events do not show it
   */
  async run(target: HookTarget, handler: Handler, signal: AbortSignal): Promise<void> {
    const { exec, httpGet, sleep } = handler;
    if (exec) await this.#exec(target, exec.command ?? [], signal);
    else if (httpGet)
      await this.#attempt(target, `HTTP lifecycle hook (${httpGet.path ?? ''})`, () =>
        this.#get(target, httpGet, signal),
      );
    else if (sleep)
      await this.#attempt(target, `Sleep lifecycle hook (${sleep.seconds})`, () =>
        this.#sleep(sleep.seconds, signal),
      );
    else throw new AgentError('invalid_argument', `Cannot run handler: invalid handler: ${printed(handler)}`);
  }

  async #exec(target: HookTarget, command: readonly string[], signal: AbortSignal): Promise<void> {
    let output = '';
    const run = async (): Promise<void> => {
      const { runtime } = this.#deps;
      if (!runtime.execSync)
        throw new AgentError('unimplemented', 'the runtime cannot run commands in containers');
      const answer = await runtime.execSync(
        { containerId: runtimeId(target.id), cmd: command, timeout: 0 },
        { signal },
      );
      const stderr = text(answer.stderr);
      output = text(answer.stdout) + stderr;
      const code = answer.exitCode ?? 0;
      if (code !== 0)
        throw new AgentError('internal', `command '${command.join(' ')}' exited with ${code}: ${stderr}`);
    };
    const what = `Exec lifecycle hook ([${command.join(' ')}])`;
    await this.#attempt(target, what, run, () => `, message: ${goQuote(output)}`);
  }

  async #attempt(
    { pod, container }: HookTarget,
    what: string,
    run: () => Promise<void>,
    tail: () => string = () => '',
  ): Promise<void> {
    try {
      await run();
    } catch (cause) {
      const where = `for Container ${goQuote(container.name)} in Pod ${goQuote(podText(pod))}`;
      const message = `${what} ${where} failed - error: ${messageOf(cause)}${tail()}`;
      throw new AgentError('internal', message, { cause });
    }
  }

  async #get(
    { pod, container }: HookTarget,
    action: NonNullable<Handler['httpGet']>,
    signal: AbortSignal,
  ): Promise<void> {
    const ownHost = (action.host ?? '') !== '';
    const [podIp = ''] = ownHost ? [] : await this.#deps.podIps(pod);
    if (!ownHost && podIp === '')
      throw new AgentError('unavailable', 'failed to find networking container: the pod has no IP');
    const request = httpGetRequest({ httpGet: action, podIp, ports: container.ports }, 'lifecycle');
    try {
      await this.#ask(request, signal);
    } catch (reason) {
      if (!messageOf(reason).endsWith(plainAnswer)) throw reason;
      await this.#ask(inPlainText(request), signal).catch(() => {
        throw reason;
      });
      this.#deps.counts?.httpFallback();
      const at = textOf(request.url.host);
      this.#deps.recorder.event(
        pod,
        'Warning',
        'LifecycleHTTPFallback',
        `request to HTTPS lifecycle hook ${at} got HTTP response, retry with HTTP succeeded`,
      );
    }
  }

  /**
   * Any response counts as success. The start of the body is read first, as in the kubelet, so that the server may take its time with it.
   */
  async #ask(request: HttpGetRequest, signal: AbortSignal): Promise<void> {
    const { clock } = this.#deps;
    const answer = await httpGet(request, { clock, ...hookClient }, signal);
    try {
      if (answer.contentLength <= maxBodyBytes) await answer.read(maxBodyBytes).catch(() => undefined);
    } finally {
      answer.close();
    }
  }

  async #sleep(seconds: number, signal: AbortSignal): Promise<void> {
    try {
      await this.#deps.clock.sleep(seconds * 1000, signal);
    } catch (cause) {
      this.#deps.counts?.sleepEnded();
      throw new AgentError('cancelled', 'container terminated before sleep hook finished', { cause });
    }
  }
}

/** Maximum number of body bytes that are read. */
const maxBodyBytes = 10 * 1024;

/** HTTP settings of hooks, as in Go's default transport: no HTTP/2, as certificates are not verified, and 30 s to connect. */
const hookClient: Omit<HttpClient, 'clock'> = {
  http2: false,
  extra: [['Accept-Encoding', 'gzip']],
  dialTimeoutMs: 30_000,
};

/**
 * Returns the request for the plain-HTTP fallback, without credentials. Earlier kubelets ignored the scheme, so HTTPS hooks may point to
 * servers without TLS.
 */
function inPlainText(request: HttpGetRequest): HttpGetRequest {
  const { Authorization: _secret, ...headers } = request.headers;
  return { ...request, url: new GoUrl({ ...request.url.parts, scheme: 'http' }), headers };
}

const text = (bytes: Uint8Array | undefined): string => (bytes ? Buffer.from(bytes).toString('utf8') : '');

/** Formats a handler without a supported action as Go prints it: `tcpSocket`, or an empty handler. */
function printed({ tcpSocket }: Handler): string {
  const { port = 0, host = '' } = tcpSocket ?? {};
  const value = typeof port === 'string' ? `1 0 ${port}` : `0 ${port} `;
  const socket = tcpSocket ? `&TCPSocketAction{Port:{${value}},Host:${host},}` : 'nil';
  return `&LifecycleHandler{Exec:nil,HTTPGet:nil,TCPSocket:${socket},Sleep:nil,}`;
}
