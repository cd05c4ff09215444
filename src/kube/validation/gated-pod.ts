import { ownMember } from '../../base/own.ts';
import { isDeepStrictEqual } from 'node:util';
import type { PodSpec } from '../types.ts';
import { type Faults, invalid } from './field-error.ts';
import { sorted } from './shared.ts';

type NodeAffinity = NonNullable<NonNullable<PodSpec['affinity']>['nodeAffinity']>;
type Map = Readonly<Record<string, string>>;

const must = 'requiredDuringSchedulingIgnoredDuringExecution';

/** Validates the node selector of a gated pod, which may only get additions. */
export function* validateNodeSelectorMutation(field: string, after: Map, before: Map): Faults {
  if (Object.entries(before).every(([key, value]) => ownMember(after, key) === value)) return;
  yield invalid(
    field,
    Object.fromEntries(sorted(after)),
    'only additions to spec.nodeSelector are allowed (no mutations or deletions)',
  );
}

/** Validates the node affinity of a gated pod: each required term may only be narrowed; preferences may change. */
export function* validateNodeAffinityMutation(
  field: string,
  after: NodeAffinity | undefined,
  before: NodeAffinity | undefined,
): Faults {
  const had = before?.[must]?.nodeSelectorTerms;
  if (had)
    yield* narrowedTerms(`${field}.${must}.nodeSelectorTerms`, after?.[must]?.nodeSelectorTerms ?? [], had);
}

type Term = NonNullable<NodeAffinity[typeof must]>['nodeSelectorTerms'][number];

function* narrowedTerms(at: string, terms: readonly Term[], had: readonly Term[]): Faults {
  if (terms.length !== had.length) {
    yield invalid(at, terms, 'no additions/deletions to non-empty NodeSelectorTerms list are allowed');
    return;
  }
  for (const [i, term] of terms.entries()) {
    const old = had[i];
    const startsWith = (list: readonly unknown[] = [], head: readonly unknown[] = []): boolean =>
      isDeepStrictEqual(list.slice(0, head.length), head);
    const isNarrowed =
      startsWith(term.matchExpressions, old?.matchExpressions) &&
      startsWith(term.matchFields, old?.matchFields);
    if (!isNarrowed)
      yield invalid(`${at}[${i}]`, term, 'only additions are allowed (no mutations or deletions)');
  }
}
