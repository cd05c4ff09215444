import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type Clock, steadyNow } from '../../base/clock.ts';
import { messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import { type DockerConfig, readDockerConfig, readDockerConfigJson } from '../../kube/docker-config.ts';

export interface NodeConfigDeps {
  readonly clock: Pick<Clock, 'now'>;
  readonly logger: Logger;
  /** The agent's own folder (`--root-dir`): looked in first. */
  readonly rootDir: string;
  /** `$HOME`; empty: there is none. */
  readonly home: string;
  /** Default: the machine's disk. @throws {Error} it is not there or cannot be read */
  readonly readText?: (path: string) => string;
}

/** How long what was read is used, ms. */
const lifetimeMs = 5 * 60_000;

/**
 * The node's own credentials: the first `config.json` that can be read of root folder, working folder, `~/.docker` and `/.docker`, else
 * the first `.dockercfg` of root folder, working folder, home and `/`; read again after 5 minutes.
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
  let held: { readonly config: DockerConfig; readonly until: number } | undefined;
  return () => {
    if (held && steadyNow(clock) < held.until) return held.config;
    let config: DockerConfig = {};
    for (const [path, read] of paths) {
      const found = attempt(path, read);
      if (!found) continue;
      config = found;
      break;
    }
    held = { config, until: steadyNow(clock) + lifetimeMs };
    return config;
  };
}
