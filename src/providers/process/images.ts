import { accessSync, constants } from 'node:fs';

/**
 * The host program for an image name, in the form of an image config: a container's `command` replaces
 * `entrypoint`, its `args` replace `cmd`.
 */
export interface HostImage {
  readonly entrypoint?: readonly string[];
  readonly cmd?: readonly string[];
  /** Directories to put before PATH. */
  readonly path?: readonly string[];
}

/** Returns the default images. `node` is the Node.js that runs the agent, or the one in the settings. */
export function defaultImages(nodePath: string): Readonly<Record<string, HostImage>> {
  const shell: HostImage = { cmd: ['/bin/sh'] };
  const bash: HostImage = { cmd: [firstProgram(['/bin/bash', '/usr/bin/bash']) ?? '/bin/sh'] };
  return {
    alpine: shell,
    bash,
    busybox: shell,
    debian: bash,
    node: { entrypoint: [nodePath], path: [directoryOf(nodePath)] },
    pause: { entrypoint: ['sleep', 'infinity'] },
    ubuntu: bash,
  };
}

/** Returns the image table of a host: the defaults overridden by the settings. */
export function imageTable(
  nodePath: string,
  own: Readonly<Record<string, HostImage | null>> = {},
): ReadonlyMap<string, HostImage> {
  const table = new Map<string, HostImage>(Object.entries(defaultImages(nodePath)));
  for (const [name, image] of Object.entries(own)) {
    if (image) table.set(name, image);
    else table.delete(name);
  }
  return table;
}

/**
 * Finds the host program of an image reference: by the full reference, then without tag and digest, then by its last path
 * segment when it is from a well-known registry (`docker.io/library/busybox:1.36` is `busybox`).
 */
export function findImage(table: ReadonlyMap<string, HostImage>, reference: string): HostImage | undefined {
  const repository = repositoryOf(reference);
  const familiar = repository.replace(/^(index\.)?docker\.io\//, '').replace(/^library\//, '');
  const names = [reference, repository, familiar, familiar.replace(/^registry\.k8s\.io\//, '')];
  for (const name of names) {
    const image = table.get(name);
    if (image) return image;
  }
  return undefined;
}

/** Returns an image reference without its tag and digest. */
function repositoryOf(reference: string): string {
  const bare = reference.replace(/@.*$/, '');
  const slash = bare.lastIndexOf('/');
  const colon = bare.lastIndexOf(':');
  return colon > slash ? bare.slice(0, colon) : bare;
}

function directoryOf(path: string): string {
  return path.slice(0, Math.max(1, path.lastIndexOf('/')));
}

function firstProgram(paths: readonly string[]): string | undefined {
  return paths.find((path) => {
    try {
      accessSync(path, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}
