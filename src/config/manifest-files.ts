import { tableOf } from '../base/own.ts';
import { messageOf } from '../base/errors.ts';
import { goQuote } from '../go/go-quote.ts';
import { keyOf } from '../kube/names.ts';
import type { Pod } from '../kube/types.ts';
import {
  type DecodedManifest,
  decodeManifest,
  type DecodeManifest,
  type ManifestFault,
  type ManifestOrigin,
} from './static-pod.ts';

/** The type of a path. */
export type PathKind = 'file' | 'directory' | 'other';

/** File system access for manifests. Errors have Node's `code` (`ENOENT`, `EACCES`…). */
export interface ManifestFileSystem {
  kindOf(path: string): Promise<PathKind>;
  /** Returns the names in a directory, in any order. */
  namesIn(path: string): Promise<readonly string[]>;
  /** Returns the whole text; rejects with code `EFBIG` beyond `maxBytes`. */
  readText(path: string, maxBytes: number): Promise<string>;
}

/** A manifest without a valid pod. */
export interface ManifestProblem extends ManifestFault {
  readonly path: string;
}

export interface ManifestFilesDeps {
  readonly fs: ManifestFileSystem;
  readonly onError: (problem: ManifestProblem) => void;
  /** Default: synchronous. */
  readonly decode?: DecodeManifest;
}

export interface ManifestFilesOptions extends Pick<ManifestOrigin, 'nodeName'> {
  /** A directory of manifests, or one manifest. */
  readonly path: string;
  /** The setting of the path, for messages. */
  readonly setting?: string;
  /**
   * Whether a manifest that cannot be read or is invalid leaves its pod unchanged. Otherwise the pod disappears at the next listing and
   * is killed, as with the kubelet (R21).
   */
  readonly keepLastGood?: boolean;
}

/** Events of a file in the directory, named as by inotify. */
export type FileEvent = 'CREATE' | 'WRITE' | 'CHMOD' | 'REMOVE' | 'RENAME';

/** Result of a listing or an event: the complete set of pods if it is to be emitted, and the fault if there was one. */
export interface FilesOutcome {
  readonly pods?: readonly Pod[];
  readonly fault?: ManifestFault;
}

/** Maximum size of a manifest: 10 MiB. */
export const maxManifestBytes: number = 10 * 1024 * 1024;

/**
 * ManifestFiles holds the last read pods of a manifest directory or file, by namespace and name. A listing replaces all, an event changes
 * one. Follows kubelet `sourceFile` (R19 to R21) including its quirks: an empty listing emits no pods but does not forget the previous
 * ones, so they are emitted again at the next event; a pod that is renamed within its file leaves the old one until the next listing.
 */
export class ManifestFiles {
  readonly #deps: ManifestFilesDeps;
  readonly #options: ManifestFilesOptions;
  #store = new Map<string, Pod>();
  /** The key of the last pod in each file. */
  readonly #keys = new Map<string, string>();
  /** The last valid pod of each file. */
  readonly #lastGood = new Map<string, Pod>();
  /** The last text of each file and its result: the same text is not decoded again. */
  readonly #decoded = new Map<string, { readonly text: string; readonly manifest: DecodedManifest }>();

  constructor(deps: ManifestFilesDeps, options: ManifestFilesOptions) {
    this.#deps = deps;
    this.#options = options;
  }

  /** Lists all manifests. A missing path means no pods, and a fault (R20). */
  async list(): Promise<FilesOutcome> {
    const { path } = this.#options;
    const kind = await this.#deps.fs
      .kindOf(path)
      .catch((reason: unknown) => systemFault('stat', path, reason));
    if (typeof kind !== 'string') return this.#unlisted(path, kind);
    if (kind === 'directory') return this.#listDirectory(path);
    if (kind === 'other') return this.#failed(path, { message: 'path is not a directory or file' });
    const read = await this.#readFile(path);
    if ('pod' in read) return { pods: this.#replace([read.pod]) };
    const fault = this.#failed(path, read.fault);
    const lastGood = this.#lastGoodOf(path);
    return lastGood ? { ...fault, pods: this.#replace([lastGood]) } : fault;
  }

  /** Handles a change of one file. Names that start with a dot are ignored. */
  async handle(events: readonly FileEvent[], file: string): Promise<FilesOutcome> {
    const path = this.#pathOf(file);
    if (nameIn(path).startsWith('.')) return {};
    if (events.some((event) => event === 'CREATE' || event === 'WRITE' || event === 'CHMOD')) {
      const read = await this.#readFile(path);
      if ('pod' in read) {
        this.#store.set(keyOf(read.pod), read.pod);
        return { pods: [...this.#store.values()] };
      }
      const message = `can't process config file ${goQuote(path)}: ${read.fault.message}`;
      return this.#failed(path, { ...read.fault, message });
    }
    return this.#removed(path);
  }

  #removed(path: string): FilesOutcome {
    this.#decoded.delete(path);
    const key = this.#keys.get(path);
    if (key === undefined) return {};
    if (!this.#store.delete(key))
      return this.#failed(path, { message: `the pod with key ${key} doesn't exist in cache` });
    this.#keys.delete(path);
    return { pods: [...this.#store.values()] };
  }

  #pathOf(file: string): string {
    return file.startsWith('/') ? file : `${this.#options.path}/${file}`;
  }

  #unlisted(path: string, fault: SystemFault): FilesOutcome {
    if (fault.code !== 'ENOENT') return this.#failed(path, fault);
    const { setting = 'staticPodPath' } = this.#options;
    const advice = `create the directory, or set ${setting} to where the manifests are`;
    return { ...this.#failed(path, { message: 'path does not exist, ignoring', advice }), pods: [] };
  }

  async #listDirectory(path: string): Promise<FilesOutcome> {
    const names = await this.#deps.fs
      .namesIn(path)
      .catch((reason: unknown) => systemFault('open', path, reason));
    if ('message' in names) return this.#failed(path, names);
    const pods: Pod[] = [];
    const shown = names.filter((name) => !name.startsWith('.')).sort();
    const present = new Set(shown.map((name) => `${path}/${name}`));
    for (const file of this.#decoded.keys()) if (!present.has(file)) this.#decoded.delete(file);
    for (const file of present) {
      const pod = await this.#podIn(file);
      if (pod) pods.push(pod);
    }
    // An empty listing emits an empty set, so that the source counts as seen.
    return { pods: pods.length === 0 ? [] : this.#replace(pods) };
  }

  /** Returns the pod of one directory entry; faults are reported and the other entries are processed. */
  async #podIn(path: string): Promise<Pod | undefined> {
    const kind = await this.#deps.fs
      .kindOf(path)
      .catch((reason: unknown) => systemFault('stat', path, reason));
    if (kind === 'directory') return undefined;
    const read =
      typeof kind !== 'string'
        ? { fault: kind }
        : kind === 'other'
          ? { fault: { message: 'the entry is neither a file nor a directory' } }
          : await this.#readFile(path);
    if ('pod' in read) return read.pod;
    // A file that disappeared between the two calls is not a fault.
    if ('code' in read.fault && read.fault.code === 'ENOENT') return undefined;
    this.#failed(path, read.fault);
    return this.#lastGoodOf(path);
  }

  #lastGoodOf(path: string): Pod | undefined {
    return this.#options.keepLastGood ? this.#lastGood.get(path) : undefined;
  }

  /** Of two manifests with the same pod name the last file wins, and both are reported (R22). */
  #replace(pods: readonly Pod[]): readonly Pod[] {
    const next = new Map<string, Pod>();
    for (const pod of pods) {
      const key = keyOf(pod);
      if (next.has(key)) this.#reportTwins(key);
      next.set(key, pod);
    }
    this.#store = next;
    return [...next.values()];
  }

  #reportTwins(key: string): void {
    const files = [...this.#keys].filter(([, other]) => other === key).map(([file]) => file);
    const path = files.at(-1) ?? this.#options.path;
    this.#deps.onError({
      path,
      message: `the pod ${key} is defined more than once, in ${files.join(' and ')}: the last one counts`,
      advice: 'give each manifest its own metadata.name',
    });
  }

  #failed(path: string, fault: ManifestFault): FilesOutcome {
    this.#deps.onError({ ...fault, path });
    return { fault };
  }

  async #readFile(
    path: string,
  ): Promise<{ readonly pod: Pod } | { readonly fault: ManifestFault | SystemFault }> {
    const text = await this.#deps.fs
      .readText(path, maxManifestBytes)
      .catch((reason: unknown) => systemFault('open', path, reason));
    if (typeof text !== 'string') return { fault: text };
    const decoded = await this.#decode(path, text).catch(undecided);
    if ('fault' in decoded) {
      const { message } = decoded.fault;
      if (decoded.parsed) return { fault: decoded.fault };
      const whole = `${path}: couldn't parse as pod(${message}), please check config file`;
      return { fault: { ...decoded.fault, message: whole } };
    }
    const [pod] = decoded.pods;
    if (!pod) return { fault: { message: `${path}: couldn't parse as pod` } };
    this.#keys.set(path, keyOf(pod));
    this.#lastGood.set(path, pod);
    return { pod };
  }

  async #decode(path: string, text: string): Promise<DecodedManifest> {
    const cached = this.#decoded.get(path);
    if (cached?.text === text) return cached.manifest;
    const { nodeName } = this.#options;
    const decode = this.#deps.decode ?? decodeManifest;
    const manifest = await decode('Pod', text, { source: path, isFile: true, nodeName });
    this.#decoded.set(path, { text, manifest });
    return manifest;
  }
}

/** A decode that failed for lack of resources is not remembered: it is retried at the next listing. */
const undecided = (reason: unknown): DecodedManifest => ({
  parsed: true,
  fault: { message: messageOf(reason) },
});

const nameIn = (path: string): string => path.slice(path.lastIndexOf('/') + 1);

/** An error of the operating system. */
interface SystemFault extends ManifestFault {
  readonly code: string;
}

/** The message of each error and advice to resolve it. */
const refusals: Readonly<Record<string, readonly [message: string, advice: string]>> = tableOf({
  ENOENT: ['no such file or directory', 'the file is gone'],
  EACCES: ['permission denied', 'let the agent read it'],
  EPERM: ['operation not permitted', 'let the agent read it'],
  EISDIR: ['is a directory', 'directories inside the manifest directory are not read'],
  ENOTDIR: ['not a directory', 'a part of the path is a file'],
  ELOOP: ['too many levels of symbolic links', 'the link leads back to itself'],
  EFBIG: ['the read limit is reached', `a manifest is at most ${maxManifestBytes / 1024 / 1024} MiB`],
});

function systemFault(verb: 'open' | 'stat', path: string, reason: unknown): SystemFault {
  const { code = 'UNKNOWN', message = String(reason) } = (reason ?? {}) as {
    code?: string;
    message?: string;
  };
  const [words = message, advice] = refusals[code] ?? [];
  if (code === 'EFBIG') return { code, message: words, ...(advice !== undefined && { advice }) };
  // Opening a directory succeeds; reading it fails.
  const did = code === 'EISDIR' ? 'read' : verb;
  return { code, message: `${did} ${path}: ${words}`, ...(advice !== undefined && { advice }) };
}
