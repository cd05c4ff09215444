import type { Clock } from '../../base/clock.ts';
import { AgentError, messageOf } from '../../base/errors.ts';
import {
  type EciAction,
  type EciAnswer,
  type EciApi,
  type EciParameters,
  eciVersion,
  flatten,
} from './api.ts';
import { endpointUrl } from './builtin-api.ts';
import { type EciCredentials, resolveCredential } from './credentials.ts';
import { EciError, errorOfAnswer } from './errors.ts';
import type { SignatureAlgorithm } from './signature.ts';

/** The package of Alibaba that {@link SdkEciApi} wraps: an optional peer dependency. */
const sdkPackage = '@alicloud/eci20180808';

/** As much of the package as is used: its generic call, which signs, sends and reads. */
interface SdkClient {
  callApi(params: object, request: object, runtime: object): Promise<{ readonly body?: unknown }>;
}
type SdkClass = new (config: object) => SdkClient;

/** What an {@link SdkEciApi} is made of. */
export interface SdkEciApiOptions {
  readonly endpoint: string;
  readonly region: string;
  readonly credentials: EciCredentials;
  readonly clock: Clock;
  readonly signature?: SignatureAlgorithm;
  /** How long an answer may take, ms; default 15 s. */
  readonly timeoutMs?: number;
}

/** SdkEciApi calls ECI through `@alicloud/eci20180808`, which is loaded with the first call. */
export class SdkEciApi implements EciApi {
  readonly #options: SdkEciApiOptions;
  #client: { readonly key: string; readonly client: SdkClient } | undefined;

  constructor(options: SdkEciApiOptions) {
    this.#options = options;
  }

  async call(action: EciAction, parameters: EciParameters, signal: AbortSignal): Promise<EciAnswer> {
    const { timeoutMs = 15_000 } = this.#options;
    const client = await this.#bounded(this.#clientNow(), action, signal);
    const params = {
      action,
      version: eciVersion,
      protocol: 'HTTPS',
      pathname: '/',
      method: 'POST',
      authType: 'AK',
      style: 'RPC',
      reqBodyType: 'formData',
      bodyType: 'json',
    };
    const runtime = { autoretry: false, readTimeout: timeoutMs, connectTimeout: timeoutMs };
    try {
      const answer = await this.#bounded(
        client.callApi(params, { query: flatten(parameters) }, runtime),
        action,
        signal,
      );
      return (answer.body ?? {}) as EciAnswer;
    } catch (reason) {
      signal.throwIfAborted();
      throw eciErrorOf(action, reason);
    }
  }

  /** The package knows no abort signals: the call is left behind when its time is over. */
  async #bounded<T>(call: Promise<T>, action: EciAction, signal: AbortSignal): Promise<T> {
    const { clock, timeoutMs = 15_000 } = this.#options;
    const end = Promise.withResolvers<never>();
    const abort = (): void => {
      end.reject(signal.reason as Error);
    };
    const stop = clock.timer(2 * timeoutMs, () => {
      end.reject(
        new EciError({
          eciCode: 'Timeout',
          message: `${action} was not answered within ${String(2 * timeoutMs)} ms`,
        }),
      );
    });
    signal.addEventListener('abort', abort, { once: true });
    if (signal.aborted) abort();
    call.catch(() => undefined);
    try {
      return await Promise.race([call, end.promise]);
    } finally {
      stop();
      signal.removeEventListener('abort', abort);
    }
  }

  /** A client has fixed credentials, so other ones make another client. */
  async #clientNow(): Promise<SdkClient> {
    const credential = await resolveCredential(this.#options.credentials);
    const key = JSON.stringify(credential);
    if (this.#client?.key === key) return this.#client.client;
    const { endpoint, region, signature = 'acs3' } = this.#options;
    const url = endpointUrl(endpoint);
    const Client = await loadSdk();
    const client = new Client({
      ...credential,
      regionId: region,
      endpoint: url.host,
      protocol: url.protocol.slice(0, -1),
      ...(signature === 'v1' && { signatureAlgorithm: 'v2' }), // the package's name for the classic RPC style
    });
    this.#client = { key, client };
    return client;
  }
}

async function loadSdk(): Promise<SdkClass> {
  try {
    const module = (await import('@alicloud/eci20180808')) as unknown as {
      readonly default: SdkClass | { readonly default: SdkClass };
    };
    return typeof module.default === 'function' ? module.default : module.default.default;
  } catch (cause) {
    throw new AgentError(
      'failed_precondition',
      `the package ${sdkPackage} cannot be loaded: install it (npm install ${sdkPackage}), or use the built-in client (ECI_CLIENT=builtin)`,
      { cause },
    );
  }
}

/** The package throws errors with the service's code and its whole body in `data`; others come from the network. */
function eciErrorOf(action: EciAction, reason: unknown): EciError {
  if (reason instanceof EciError) return reason;
  const { data } = (reason ?? {}) as { readonly data?: { readonly statusCode?: unknown } };
  if (typeof data?.statusCode === 'number') return errorOfAnswer(data.statusCode, data);
  if (reason instanceof SyntaxError)
    return new EciError({
      eciCode: 'BadAnswer',
      message: `${action}: the answer is no JSON object`,
      cause: reason,
    });
  return new EciError({
    eciCode: 'NetworkError',
    message: `${action}: ${messageOf(reason).replace(/https?:\S+/g, 'the service')}`,
    cause: reason,
  });
}
