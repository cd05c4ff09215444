import { concatMap, defer, filter, map, merge, type Observable, retry } from 'rxjs';
import type { Clock } from '../base/clock.ts';
import {
  type FileEvent,
  ManifestFiles,
  type ManifestFilesDeps,
  type ManifestFilesOptions,
} from './manifest-files.ts';
import type { SourceSnapshot } from './pod-update.ts';
import { after, every } from './timing.ts';

/** A change reported by the file system; `file` is an absolute path. */
export interface FileChange {
  readonly events: readonly FileEvent[];
  readonly file: string;
}

export interface FileSourceDeps extends ManifestFilesDeps {
  readonly clock: Pick<Clock, 'timer'>;
  /** Emits changes in a directory or of a file. Fails when there is nothing to watch (any more). */
  readonly watch: (path: string) => Observable<FileChange>;
}

export interface FileSourceOptions extends ManifestFilesOptions {
  /** Interval between listings: kubelet `fileCheckFrequency`, default 20 s. */
  readonly periodMs?: number;
}

const firstRetryMs = 1_000;
const longestRetryMs = 20_000;

/**
 * Emits the static pods of a manifest directory or file (R19 to R23): listed at once and every `periodMs`, and read on each change in
 * between. Reads are sequential. A manifest that cannot be read is reported to `onError` with its path; the others are processed. A
 * failed watch is restarted after 1 s, doubling to 20 s, so a directory may disappear and return.
 *
 * @example
 * config.addSource('file', fileSource({ clock, fs: nodeFiles, onError, watch: watchFiles }, { path: '/etc/kubernetes/manifests', nodeName }));
 */
export function fileSource(deps: FileSourceDeps, options: FileSourceOptions): Observable<SourceSnapshot> {
  return defer(() => {
    const files = new ManifestFiles(deps, options);
    const listings = every(deps.clock, options.periodMs ?? 20_000).pipe(map(() => () => files.list()));
    const changes = defer(() => deps.watch(options.path)).pipe(
      retry({
        delay: (_reason, count) =>
          after(deps.clock, Math.min(firstRetryMs * 2 ** (count - 1), longestRetryMs)),
        resetOnSuccess: true,
      }),
      map(
        ({ events, file }) =>
          () =>
            files.handle(events, file),
      ),
    );
    return merge(listings, changes).pipe(
      concatMap((read) => read()),
      map(({ pods }) => pods),
      filter((pods) => pods !== undefined),
      map((pods) => ({ source: 'file' as const, pods })),
    );
  });
}
