import type { PodSpec } from '../types.ts';
import { type Faults, forbidden, invalid, invalidEach, required } from './field-error.ts';
import { dns1123Label, dns1123Subdomain } from './name-rules.ts';
import { labelName, labelSelector, nodeOperators, selectorRequirement, type Selector } from './shared.ts';

type Affinity = NonNullable<PodSpec['affinity']>;
type NodeSelector = NonNullable<
  NonNullable<Affinity['nodeAffinity']>['requiredDuringSchedulingIgnoredDuringExecution']
>;
type NodeSelectorTerm = NodeSelector['nodeSelectorTerms'][number];
type PodTerm = NonNullable<
  NonNullable<Affinity['podAffinity']>['requiredDuringSchedulingIgnoredDuringExecution']
>[number];
type PodTerms = NonNullable<Affinity['podAffinity']> | NonNullable<Affinity['podAntiAffinity']>;
type FieldRequirement = NonNullable<NodeSelectorTerm['matchFields']>[number];

const must = 'requiredDuringSchedulingIgnoredDuringExecution';
const wish = 'preferredDuringSchedulingIgnoredDuringExecution';

/** Validates affinity: to nodes, to pods, and pod anti-affinity. */
export function* validateAffinity(field: string, affinity: Affinity): Faults {
  if (affinity.nodeAffinity) yield* nodeAffinity(`${field}.nodeAffinity`, affinity.nodeAffinity);
  if (affinity.podAffinity) yield* podAffinity(`${field}.podAffinity`, affinity.podAffinity);
  if (affinity.podAntiAffinity) yield* podAffinity(`${field}.podAntiAffinity`, affinity.podAntiAffinity);
}

function* nodeAffinity(field: string, affinity: NonNullable<Affinity['nodeAffinity']>): Faults {
  const needed = affinity[must];
  if (needed) yield* nodeSelector(`${field}.${must}`, needed);
  for (const [i, { weight, preference }] of (affinity[wish] ?? []).entries()) {
    yield* weightFaults(`${field}.${wish}[${i}].weight`, weight);
    // Preferences accept values that are not valid label values.
    yield* nodeTerm(`${field}.${wish}[${i}].preference`, preference, false);
  }
}

/** Validates a selector of nodes: at least one term. Follows Kubernetes `ValidateNodeSelector`. */
export function* nodeSelector(field: string, selector: Partial<NodeSelector>): Faults {
  const terms = (selector.nodeSelectorTerms as readonly NodeSelectorTerm[] | null | undefined) ?? [];
  const at = `${field}.nodeSelectorTerms`;
  if (terms.length === 0) yield required(at, 'must have at least one node selector term');
  for (const [i, term] of terms.entries()) yield* nodeTerm(`${at}[${i}]`, term);
}

function* weightFaults(field: string, weight: number | undefined): Faults {
  if (weight === undefined || weight < 1 || weight > 100)
    yield invalid(field, weight ?? 0, 'must be in the range 1-100');
}

function* nodeTerm(field: string, term: NodeSelectorTerm | undefined, checkValues = true): Faults {
  for (const [i, requirement] of (term?.matchExpressions ?? []).entries())
    yield* selectorRequirement(`${field}.matchExpressions[${i}]`, requirement, nodeOperators, checkValues);
  for (const [i, requirement] of (term?.matchFields ?? []).entries())
    yield* fieldRequirement(`${field}.matchFields[${i}]`, requirement);
}

function* fieldRequirement(
  field: string,
  { key = '', operator = '', values = [] }: Partial<FieldRequirement>,
): Faults {
  if (operator !== 'In' && operator !== 'NotIn')
    yield invalid(`${field}.operator`, operator, 'not a valid selector operator');
  else if (values.length !== 1)
    yield required(
      `${field}.values`,
      "must be only one value when `operator` is 'In' or 'NotIn' for node field selector",
    );
  if (key !== 'metadata.name') return yield invalid(`${field}.key`, key, 'not a valid field selector key');
  for (const [i, value] of values.entries())
    yield* invalidEach(`${field}.values[${i}]`, value, dns1123Subdomain(value));
}

function* podAffinity(field: string, affinity: PodTerms): Faults {
  for (const [i, term] of (affinity[must] ?? []).entries()) yield* podTerm(`${field}.${must}[${i}]`, term);
  for (const [i, { weight, podAffinityTerm }] of (affinity[wish] ?? []).entries()) {
    yield* weightFaults(`${field}.${wish}[${i}].weight`, weight);
    yield* podTerm(`${field}.${wish}[${i}].podAffinityTerm`, podAffinityTerm);
  }
}

function* podTerm(field: string, term: Partial<PodTerm> = {}): Faults {
  yield* labelSelector(`${field}.labelSelector`, term.labelSelector);
  yield* labelSelector(`${field}.namespaceSelector`, term.namespaceSelector);
  for (const name of term.namespaces ?? [])
    yield* invalidEach(`${field}.namespace`, name, dns1123Label(name));
  yield* matchKeys(field, term);
  const key = term.topologyKey ?? '';
  if (key === '') yield required(`${field}.topologyKey`, 'can not be empty');
  yield* labelName(`${field}.topologyKey`, key);
}

/** Validates `matchLabelKeys` and `mismatchLabelKeys`. Follows Kubernetes `ValidateMatchLabelKeysAndMismatchLabelKeys`. */
export function* matchKeys(
  field: string,
  term: Pick<Partial<PodTerm>, 'matchLabelKeys' | 'mismatchLabelKeys' | 'labelSelector'>,
): Faults {
  const { matchLabelKeys: match = [], mismatchLabelKeys: mismatch = [], labelSelector: selector } = term;
  yield* labelKeys(`${field}.matchLabelKeys`, match, selector);
  yield* labelKeys(`${field}.mismatchLabelKeys`, mismatch, selector);
  yield* mergedKeys(field, match, selector);
  for (const [i, key] of match.entries())
    if (mismatch.includes(key))
      yield invalid(
        `${field}.matchLabelKeys[${i}]`,
        key,
        'exists in both matchLabelKeys and mismatchLabelKeys',
      );
}

function* labelKeys(field: string, keys: readonly string[], selector: Selector | undefined): Faults {
  if (keys.length === 0) return;
  if (!selector) return yield forbidden(field, 'must not be specified when labelSelector is not set');
  for (const [i, key] of keys.entries()) yield* labelName(`${field}[${i}]`, key);
}

/** The API server adds each key to the selector as one expression; other requirements with that key conflict. */
function* mergedKeys(field: string, match: readonly string[], selector: Selector | undefined): Faults {
  const seen = new Set(Object.keys(selector?.matchLabels ?? {}));
  for (const { key } of selector?.matchExpressions ?? []) {
    const i = match.lastIndexOf(key);
    if (i >= 0 && seen.has(key))
      yield invalid(`${field}[${i}]`, key, 'exists in both matchLabelKeys and labelSelector');
    seen.add(key);
  }
}
