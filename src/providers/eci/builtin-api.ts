import { randomUUID } from 'node:crypto';
import { untilAborted } from '../../base/abort.ts';
import { AgentError, messageOf } from '../../base/errors.ts';
import type { Clock } from '../../base/clock.ts';
import {
  type EciAction,
  type EciAnswer,
  type EciApi,
  type EciParameters,
  eciVersion,
  flatten,
} from './api.ts';
import { type EciCredentials, resolveCredential } from './credentials.ts';
import { EciError, errorOfAnswer } from './errors.ts';
import {
  acs3Authorization,
  canonicalQuery,
  type EciCredential,
  sha256Hex,
  type SignatureAlgorithm,
  v1Signature,
} from './signature.ts';

/** What a {@link BuiltinEciApi} is made of. */
export interface BuiltinEciApiOptions {
  /** Host and port, or a whole URL, e.g. `eci.cn-hangzhou.aliyuncs.com`; HTTPS where it names no scheme. */
  readonly endpoint: string;
  readonly credentials: EciCredentials;
  readonly clock: Clock;
  readonly signature?: SignatureAlgorithm;
  /** How long an answer may take, ms; default 15 s. */
  readonly timeoutMs?: number;
  /** A value that is never used twice; default: random. */
  readonly nonce?: () => string;
  readonly fetch?: typeof globalThis.fetch;
}

/** The longest answer that is read, bytes: a page of groups takes some 100 KB. */
const maxAnswerBytes = 32 * 1024 * 1024;

/** BuiltinEciApi calls ECI with Node's own `fetch` and `node:crypto`, without Alibaba's packages. */
export class BuiltinEciApi implements EciApi {
  readonly #options: BuiltinEciApiOptions;
  readonly #url: URL;

  constructor(options: BuiltinEciApiOptions) {
    this.#options = options;
    this.#url = endpointUrl(options.endpoint);
  }

  async call(action: EciAction, parameters: EciParameters, signal: AbortSignal): Promise<EciAnswer> {
    const { clock, timeoutMs = 15_000, credentials, fetch = globalThis.fetch } = this.#options;
    const deadline = new AbortController();
    const stop = clock.timer(timeoutMs, () => {
      deadline.abort();
    });
    const ended = AbortSignal.any([signal, deadline.signal]);
    try {
      const credential = await untilAborted(resolveCredential(credentials), ended);
      const { query, headers } = this.#sign(action, flatten(parameters), credential);
      const url = new URL(this.#url);
      url.search = canonicalQuery(query);
      const answer = await fetch(url, { method: 'POST', headers, signal: ended, redirect: 'error' });
      return await readAnswer(answer, ended);
    } catch (reason) {
      signal.throwIfAborted();
      if (reason instanceof EciError || (reason instanceof AgentError && !deadline.signal.aborted))
        throw reason;
      if (deadline.signal.aborted)
        throw new EciError({
          eciCode: 'Timeout',
          message: `${action} was not answered within ${String(timeoutMs)} ms`,
        });
      // the URL holds what the pod's secrets say, so the reason alone is shown
      throw new EciError({
        eciCode: 'NetworkError',
        message: `${action}: ${networkFault(reason)}`,
        cause: reason,
      });
    } finally {
      stop();
    }
  }

  #sign(
    action: EciAction,
    parameters: Record<string, string>,
    credential: EciCredential,
  ): { readonly query: Record<string, string>; readonly headers: Record<string, string> } {
    const { clock, signature = 'acs3', nonce = randomUUID } = this.#options;
    const at = `${new Date(clock.now()).toISOString().slice(0, 19)}Z`;
    return signature === 'acs3'
      ? acs3({ action, parameters, credential, at, nonce: nonce(), host: this.#url.host })
      : v1({ action, parameters, credential, at, nonce: nonce() });
  }
}

interface ToSign {
  readonly action: EciAction;
  readonly parameters: Record<string, string>;
  readonly credential: EciCredential;
  readonly at: string;
  readonly nonce: string;
}

function acs3({ action, parameters, credential, at, nonce, host }: ToSign & { readonly host: string }): {
  query: Record<string, string>;
  headers: Record<string, string>;
} {
  const { accessKeyId, securityToken } = credential;
  const headers: Record<string, string> = {
    host,
    accept: 'application/json',
    'x-acs-action': action,
    'x-acs-version': eciVersion,
    'x-acs-date': at,
    'x-acs-signature-nonce': nonce,
    'x-acs-content-sha256': sha256Hex(''),
    ...(securityToken !== undefined && {
      'x-acs-security-token': securityToken,
      'x-acs-accesskey-id': accessKeyId,
    }),
  };
  const parts = { method: 'POST', path: '/', query: parameters, headers, body: '' };
  return { query: parameters, headers: { ...headers, authorization: acs3Authorization(parts, credential) } };
}

function v1({ action, parameters, credential, at, nonce }: ToSign): {
  query: Record<string, string>;
  headers: Record<string, string>;
} {
  const { accessKeyId, accessKeySecret, securityToken } = credential;
  const query: Record<string, string> = {
    ...parameters,
    Action: action,
    Format: 'json',
    Version: eciVersion,
    Timestamp: at,
    SignatureNonce: nonce,
    SignatureMethod: 'HMAC-SHA1',
    SignatureVersion: '1.0',
    AccessKeyId: accessKeyId,
    ...(securityToken !== undefined && { SecurityToken: securityToken }),
  };
  const Signature = v1Signature('POST', query, accessKeySecret);
  return { query: { ...query, Signature }, headers: { accept: 'application/json' } };
}

/** endpointUrl reads an endpoint as users write it: a host, a host and port, or a URL. @throws {EciError} */
export function endpointUrl(endpoint: string): URL {
  const text = /^https?:\/\//i.test(endpoint) ? endpoint : `https://${endpoint}`;
  if (!URL.canParse(text))
    throw new EciError({ eciCode: 'InvalidEndpoint', message: `"${endpoint}" is no host name or URL` });
  const url = new URL(text);
  url.pathname = '/';
  return url;
}

async function readAnswer(answer: Response, signal: AbortSignal): Promise<EciAnswer> {
  const body = parsed(await textOf(answer, signal));
  if (!answer.ok) throw errorOfAnswer(answer.status, body, answer.headers.get('retry-after'));
  if (typeof body === 'object' && body !== null && !Array.isArray(body)) return body as EciAnswer;
  throw new EciError({
    eciCode: 'BadAnswer',
    message: 'the answer is no JSON object',
    status: answer.status,
  });
}

async function textOf(answer: Response, signal: AbortSignal): Promise<string> {
  const parts: Uint8Array[] = [];
  let length = 0;
  const reader = answer.body?.getReader();
  for (let part = await reader?.read(); part?.done === false; part = await reader?.read()) {
    signal.throwIfAborted();
    const bytes = part.value as Uint8Array;
    length += bytes.byteLength;
    if (length > maxAnswerBytes) {
      await reader?.cancel();
      throw new EciError({
        eciCode: 'BadAnswer',
        message: `the answer is longer than ${String(maxAnswerBytes)} bytes`,
      });
    }
    parts.push(bytes);
  }
  return Buffer.concat(parts).toString('utf8');
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The innermost reason: `fetch failed` alone says nothing. */
function networkFault(reason: unknown): string {
  const cause = reason instanceof Error ? reason.cause : undefined;
  return cause === undefined ? messageOf(reason) : messageOf(cause) || messageOf(reason);
}
