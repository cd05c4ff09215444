import { withoutPassword } from '../go/url.ts';
import type { EffectiveOptions } from './load.ts';
import { type Origin, originOf } from './origin.ts';

/** An effective setting. */
export interface ExplainedSetting {
  /** e.g. `authentication.webhook.cacheTTL` */
  readonly path: string;
  readonly value: unknown;
  /** `default`, `file:line`, `--flag` or `$VARIABLE`. */
  readonly from: string;
}

/** Returns every effective setting and its origin, the agent's own first; credentials for the manifest server are masked. */
export function explain({ agent, kubelet, origins }: EffectiveOptions): ExplainedSetting[] {
  const { apiVersion: _version, kind: _kind, ...settings } = kubelet;
  return [...leaves(agent, []), ...leaves(settings, [])].map(([path, value]) => ({
    path,
    value: shown(path, value),
    from: formatOrigin(originOf(path, origins)),
  }));
}

/** Masks secrets, because the output ends up in terminal histories and bug reports (the kubelet masks the headers in its log). */
function shown(path: string, value: unknown): unknown {
  if (path.startsWith('staticPodURLHeader.')) return ['<masked>'];
  return path === 'staticPodURL' ? withoutPassword(String(value)) : value;
}

/** Formats an origin for output. */
export function formatOrigin(origin: Origin): string {
  switch (origin.from) {
    case 'default':
      return 'default';
    case 'file':
      return origin.line === undefined ? origin.file : `${origin.file}:${origin.line}`;
    case 'flag':
      return `--${origin.flag}`;
    case 'env':
      return `$${origin.variable}`;
  }
}

/** Returns the leaf values with their paths; lists and empty mappings are leaves. */
function leaves(value: unknown, path: readonly string[]): (readonly [string, unknown])[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || Object.keys(value).length === 0)
    return [[path.join('.'), value]];
  return Object.entries(value).flatMap(([key, inner]) => leaves(inner, [...path, key]));
}
