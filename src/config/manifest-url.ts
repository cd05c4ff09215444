import { STATUS_CODES } from 'node:http';
import { messageOf } from '../base/errors.ts';
import { goQuote } from '../go/go-quote.ts';
import { withoutPassword } from '../go/url.ts';
import type { Pod } from '../kube/types.ts';
import {
  type DecodedManifest,
  decodeManifest,
  type DecodeManifest,
  type ManifestFault,
  type ManifestOrigin,
} from './static-pod.ts';

/** Response of the manifest server. */
export interface ManifestAnswer {
  readonly status: number;
  /** Reason phrase of the status; absent: the standard one. */
  readonly statusText?: string;
  readonly body: string;
}

/** Fetches a URL; rejects when there is no response in time, or one of more than `maxBytes`. */
export type FetchManifest = (
  url: string,
  options: { readonly headers: Readonly<Record<string, readonly string[]>>; readonly maxBytes: number },
) => Promise<ManifestAnswer>;

export interface ManifestUrlOptions extends Pick<ManifestOrigin, 'nodeName'> {
  readonly url: string;
  /** kubelet `staticPodURLHeader` */
  readonly headers?: Readonly<Record<string, readonly string[]>>;
}

/** Result of a request: the complete set of pods if it is to be emitted, and the fault if there was one. */
export interface UrlOutcome {
  readonly pods?: readonly Pod[];
  readonly fault?: ManifestFault;
}

const maxManifestBytes = 10 * 1024 * 1024;

/**
 * ManifestUrl reads the pods behind a URL (R24). Follows kubelet `sourceURL`: the same bytes as last time are ignored, even when they
 * were invalid, and also after an empty response, which means no pods.
 */
export class ManifestUrl {
  readonly #fetch: FetchManifest;
  readonly #options: ManifestUrlOptions;
  /** The URL without its password. */
  readonly #shown: string;
  readonly #read: DecodeManifest;
  #last: string | undefined;

  constructor(fetch: FetchManifest, options: ManifestUrlOptions, decode: DecodeManifest = decodeManifest) {
    this.#fetch = fetch;
    this.#options = options;
    this.#shown = withoutPassword(options.url);
    this.#read = decode;
  }

  /** Makes one request. */
  async poll(): Promise<UrlOutcome> {
    const { url, headers = {} } = this.#options;
    const answer = await this.#fetch(url, { headers, maxBytes: maxManifestBytes }).catch(
      (reason: unknown): UrlOutcome => ({
        fault: {
          message: `Get ${goQuote(this.#shown)}: ${messageOf(reason)}`,
          advice: 'is the server up?',
        },
      }),
    );
    return 'status' in answer ? this.#take(answer) : answer;
  }

  #take({
    status,
    statusText = STATUS_CODES[status] ?? '',
    body,
  }: ManifestAnswer): UrlOutcome | Promise<UrlOutcome> {
    const url = this.#shown;
    if (status !== 200) return { fault: { message: `${url}: ${status} ${statusText}` } };
    if (body === '') return { pods: [], fault: { message: `zero-length data received from ${url}` } };
    if (body === this.#last) return {};
    this.#last = body;
    return this.#decode(body).catch((reason: unknown) => {
      this.#last = undefined; // not decoded for lack of resources: retried with the next response
      return { fault: { message: `${url}: ${messageOf(reason)}` } };
    });
  }

  async #decode(body: string): Promise<UrlOutcome> {
    const { url, nodeName } = this.#options;
    const origin: ManifestOrigin = { source: url, isFile: false, nodeName };
    const single = await this.#read('Pod', body, origin);
    if (single.parsed) return outcomeOf(single);
    const list = await this.#read('PodList', body, origin);
    if (list.parsed) return outcomeOf(list);
    const [one, many] = [single, list].map((tried) => ('fault' in tried ? tried.fault.message : ''));
    const message = `${this.#shown}: received '${body}', but couldn't parse as single (${one ?? ''}) or multiple pods (${many ?? ''})`;
    return { fault: { ...('fault' in single && single.fault), message } };
  }
}

const outcomeOf = (decoded: DecodedManifest): UrlOutcome =>
  'fault' in decoded ? { fault: decoded.fault } : { pods: decoded.pods };
