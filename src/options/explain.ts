import { withoutPassword } from '../go/url.ts';
import type { EffectiveOptions } from './load.ts';
import { type Origin, originOf } from './origin.ts';

/** One effective setting. */
export interface ExplainedSetting {
  /** e.g. `authentication.webhook.cacheTTL` */
  readonly path: string;
  readonly value: unknown;
  /** `default`, `file:line`, `--flag` or `$VARIABLE`. */
  readonly from: string;
}

/** Every effective setting and where it came from, the agent's own first; without what lets somebody in at the manifest's server. */
export function explain({ agent, kubelet, origins }: EffectiveOptions): ExplainedSetting[] {
  const { apiVersion: _version, kind: _kind, ...settings } = kubelet;
  return [...leaves(agent, []), ...leaves(settings, [])].map(([path, value]) => ({
    path,
    value: shown(path, value),
    from: formatOrigin(originOf(path, origins)),
  }));
}

/** What is printed ends up in terminals' histories and reports of faults (the kubelet masks the headers in its log). */
function shown(path: string, value: unknown): unknown {
  if (path.startsWith('staticPodURLHeader.')) return ['<masked>'];
  return path === 'staticPodURL' ? withoutPassword(String(value)) : value;
}

/** An origin as people write it. */
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

/** Values that are no mappings, with their paths; lists and empty mappings stay whole. */
function leaves(value: unknown, path: readonly string[]): (readonly [string, unknown])[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || Object.keys(value).length === 0)
    return [[path.join('.'), value]];
  return Object.entries(value).flatMap(([key, inner]) => leaves(inner, [...path, key]));
}
