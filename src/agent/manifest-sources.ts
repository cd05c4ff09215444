import type { Observable } from 'rxjs';
import { type Clock, steadyNow } from '../base/clock.ts';
import { decodingAside } from '../config/decode-aside.ts';
import { fileSource } from '../config/file-source.ts';
import { fetchManifestThrough, httpSource } from '../config/http-source.ts';
import type { ManifestProblem } from '../config/manifest-files.ts';
import { nodeFiles, watchFiles } from '../config/node-files.ts';
import type { SourceSnapshot } from '../config/pod-update.ts';
import type { AgentOptions } from './agent-options.ts';

/** Is told of each manifest, directory or URL that cannot be used. */
export type ReportProblem = (source: string, message: string) => void;

type Named = readonly ['file' | 'http', Observable<SourceSnapshot>];

/** The sources of static pods that the options name. */
export function manifestSources(
  options: AgentOptions,
  clock: Clock,
  report: ReportProblem,
): readonly Named[] {
  const { nodeName, manifests, manifestPeriodMs, keepLastGoodManifest, manifestsSetting } = options;
  const { manifestUrl, manifestUrlPeriodMs, manifestHeaders, proxies = {} } = options;
  const sources: Named[] = [];
  if (manifests !== undefined) {
    const onError = (problem: ManifestProblem): void => {
      report(problem.path, plainly(problem));
    };
    const deps = { clock, fs: nodeFiles, watch: watchFiles, decode: decodingAside(), onError };
    const settings = {
      path: manifests,
      nodeName,
      ...(manifestsSetting !== undefined && { setting: manifestsSetting }),
      ...(manifestPeriodMs !== undefined && { periodMs: manifestPeriodMs }),
      ...(keepLastGoodManifest !== undefined && { keepLastGood: keepLastGoodManifest }),
    };
    sources.push(['file', fileSource(deps, settings)]);
  }
  if (manifestUrl !== undefined) {
    const onError = (problem: { readonly url: string; readonly message: string }): void => {
      report(problem.url, shortened(problem.message));
    };
    const settings = {
      url: manifestUrl,
      nodeName,
      ...(manifestHeaders && { headers: manifestHeaders }),
      ...(manifestUrlPeriodMs !== undefined && { periodMs: manifestUrlPeriodMs }),
    };
    sources.push([
      'http',
      httpSource({ clock, fetch: fetchManifestThrough(proxies), decode: decodingAside(), onError }, settings),
    ]);
  }
  return sources;
}

/** Listings and changes tell the same fault in different words, with the path in front: without that, and with the advice. */
function plainly({ path, message, advice }: ManifestProblem): string {
  const fronts = [`can't process config file ${JSON.stringify(path)}: `, `${path}: `];
  const bare = fronts.reduce(
    (text, front) => (text.startsWith(front) ? text.slice(front.length) : text),
    message,
  );
  const plain = bare.replace(/^couldn't parse as pod\((.*)\), please check config file$/s, 'not a pod: $1');
  return advice === undefined ? plain : `${plain}; ${advice}`;
}

/** Characters of a message from a URL that are told at its begin and at its end: it quotes what came, which may be very long. */
const toldChars = 1000;

const shortened = (message: string): string =>
  message.length <= 2 * toldChars ? message : `${message.slice(0, toldChars)} … ${message.slice(-toldChars)}`;

/** A problem that is not found for this long was gone in between, ms: more than the period of listings. */
const problemLastsMs = 45_000;

/** Which problems of manifests last, so that each is told once. Those that are gone are forgotten: some tell something else each time. */
export class LastingProblems {
  readonly #clock: Pick<Clock, 'now' | 'steady'>;
  /** When each was last found, the longest ago first. */
  readonly #foundAt = new Map<string, number>();

  constructor(clock: Pick<Clock, 'now' | 'steady'>) {
    this.#clock = clock;
  }

  /** Takes note of a problem that was found. @returns whether it is one that was not there before */
  isNew(source: string, message: string): boolean {
    const now = steadyNow(this.#clock);
    for (const [known, at] of this.#foundAt) {
      if (now - at <= problemLastsMs) break;
      this.#foundAt.delete(known);
    }
    const key = `${source}\n${message}`;
    const isNew = !this.#foundAt.delete(key);
    this.#foundAt.set(key, now);
    return isNew;
  }
}
