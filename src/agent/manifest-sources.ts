import type { Observable } from 'rxjs';
import { type Clock, steadyNow } from '../base/clock.ts';
import { decodingAside } from '../config/decode-aside.ts';
import { fileSource } from '../config/file-source.ts';
import { fetchManifestThrough, httpSource } from '../config/http-source.ts';
import type { ManifestProblem } from '../config/manifest-files.ts';
import { nodeFiles, watchFiles } from '../config/node-files.ts';
import type { SourceSnapshot } from '../config/pod-update.ts';
import type { AgentOptions } from './agent-options.ts';

/** Called for each manifest, directory or URL that cannot be used. */
export type ReportProblem = (source: string, message: string) => void;

type Named = readonly ['file' | 'http', Observable<SourceSnapshot>];

/** Makes the static pod sources in the options. */
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

/** Normalizes a problem, which listings and watches report in different words: without the path in front, and with the advice. */
function plainly({ path, message, advice }: ManifestProblem): string {
  const fronts = [`can't process config file ${JSON.stringify(path)}: `, `${path}: `];
  const bare = fronts.reduce(
    (text, front) => (text.startsWith(front) ? text.slice(front.length) : text),
    message,
  );
  const plain = bare.replace(/^couldn't parse as pod\((.*)\), please check config file$/s, 'not a pod: $1');
  return advice === undefined ? plain : `${plain}; ${advice}`;
}

/** The length of the retained beginning and end of a message about a URL, characters: it quotes the response, which may be very long. */
const excerptChars = 1000;

const shortened = (message: string): string =>
  message.length <= 2 * excerptChars
    ? message
    : `${message.slice(0, excerptChars)} … ${message.slice(-excerptChars)}`;

/** A problem that was not found for this long, ms, counts as a new one; longer than the period of listings. */
const problemLastsMs = 45_000;

/**
 * LastingProblems holds the current problems of manifests, so that each is reported once. Old ones are removed, because some messages vary
 * each time.
 */
export class LastingProblems {
  readonly #clock: Pick<Clock, 'now' | 'steady'>;
  /** When each problem was last found, oldest first. */
  readonly #foundAt = new Map<string, number>();

  constructor(clock: Pick<Clock, 'now' | 'steady'>) {
    this.#clock = clock;
  }

  /** Records a problem. @returns whether it is new */
  isNew(source: string, message: string): boolean {
    const now = steadyNow(this.#clock);
    for (const [problem, at] of this.#foundAt) {
      if (now - at <= problemLastsMs) break;
      this.#foundAt.delete(problem);
    }
    const key = `${source}\n${message}`;
    const isNew = !this.#foundAt.delete(key);
    this.#foundAt.set(key, now);
    return isNew;
  }
}
