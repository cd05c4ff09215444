import { type Faults, invalid, required } from '../../../kube/validation/field-error.ts';
import { cidrBlock } from '../../../kube/validation/shared.ts';
import { type JsonObject, listAt, specOf, textOf } from '../../../apimachinery/json.ts';
import { builtIn } from '../../../apimachinery/kinds.ts';
import { strategyOf } from '../kind-strategy.ts';
import type { Strategy } from '../strategy.ts';

const field = 'spec.cidrs';
const cidrsOf = (one: JsonObject): readonly string[] => listAt(specOf(one), 'cidrs').map(textOf);

function* blockFaults(cidrs: readonly string[]): Faults {
  if (cidrs.length === 0) {
    yield required(field, 'at least one CIDR required');
    return;
  }
  if (cidrs.length > 2) {
    yield invalid(field, { CIDRs: cidrs }, 'may only hold up to 2 values');
    return;
  }
  const found = cidrs.flatMap((cidr, i) => [...cidrBlock(`${field}[${i}]`, cidr)]);
  yield* found;
  if (found.length === 0 && cidrs.length === 2 && new Set(cidrs.map((cidr) => cidr.includes(':'))).size === 1)
    yield invalid(
      field,
      cidrs,
      'may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64',
    );
}

/** Validates that blocks stay; one of the other family may be added. */
function* updateFaults(cidrs: readonly string[], before: readonly string[]): Faults {
  const why = 'field is immutable';
  const grows = before.length === 1 && cidrs.length === 2;
  if (!grows && before.length !== cidrs.length) {
    yield invalid(field, cidrs, why);
    return;
  }
  for (const [i, cidr] of before.entries())
    if (cidr !== cidrs[i]) yield invalid(`${field}[${i}]`, cidrs[i], why);
  if (grows) yield* blockFaults(cidrs);
}

/** Strategy of ranges of service addresses. */
export const serviceCidrStrategy: Strategy = strategyOf(builtIn('servicecidrs', 'networking.k8s.io'), {
  faults: (one, old) => (old ? updateFaults(cidrsOf(one), cidrsOf(old)) : blockFaults(cidrsOf(one))),
  status: { frozenMetadata: 'all' },
});
