import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type Clock, steadyNow } from '../../base/clock.ts';
import { messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import { type DockerConfig, readDockerConfig, readDockerConfigJson } from '../../kube/docker-config.ts';

export interface NodeConfigDeps {
  readonly clock: Pick<Clock, 'now'>;
  readonly logger: Logger;
  /** The agent's root directory (`--root-dir`), which is searched first. */
  readonly rootDir: string;
  /** `$HOME`; empty when it is not set. */
  readonly home: string;
  /** Default: reads from disk. @throws {Error} when the file does not exist or cannot be read */
  readonly readText?: (path: string) => string;
}

/** How long credentials that were read are reused, ms. */
const lifetimeMs = 5 * 60_000;

/**
 * Returns a reader of the node's own credentials: the first readable `config.json` of root directory, working directory, `~/.docker` and
 * `/.docker`, otherwise the first `.dockercfg` of root directory, working directory, home and `/`; read again after 5 minutes.
 *
 * Follows `defaultDockerConfigProvider` in its `CachingDockerConfigProvider` (pkg/credentialprovider).
 */
export function nodeDockerConfig({
  clock,
  logger,
  rootDir,
  home,
  readText = (path) => readFileSync(path, 'utf8'),
}: NodeConfigDeps): () => DockerConfig {
  const paths: readonly (readonly [path: string, read: (text: string) => DockerConfig])[] = [
    ...[rootDir, '', join(home, '.docker'), '/.docker'].map(
      (dir) => [resolve(dir, 'config.json'), readDockerConfigJson] as const,
    ),
    ...[rootDir, '', home, '/'].map((dir) => [resolve(dir, '.dockercfg'), readDockerConfig] as const),
  ];
  const attempt = (path: string, read: (text: string) => DockerConfig): DockerConfig | undefined => {
    try {
      return read(readText(path));
    } catch (reason) {
      const missing = (reason as NodeJS.ErrnoException).code === 'ENOENT';
      if (!missing) logger.warn('node credentials could not be read', { path, err: messageOf(reason) });
      return undefined;
    }
  };
  let cached: { readonly config: DockerConfig; readonly until: number } | undefined;
  return () => {
    if (cached && steadyNow(clock) < cached.until) return cached.config;
    let config: DockerConfig = {};
    for (const [path, read] of paths) {
      const found = attempt(path, read);
      if (!found) continue;
      config = found;
      break;
    }
    cached = { config, until: steadyNow(clock) + lifetimeMs };
    return config;
  };
}
