import { fnv1a32 } from '../../base/fnv.ts';
import { goDump, type GoTypes } from '../../go/go-dump.ts';
import { parseQuantity, type Quantity, scaledValue } from '../../kube/resources/quantity.ts';
import { safeText } from './objects.ts';
import type { PodTemplate } from './types.ts';
import types from './pod-template-types.json' with { type: 'json' };

const time = '{Time:(time.Time){wall:(uint64)0 ext:(int64)0 loc:(*time.Location)<nil>}}';

const goTypes: GoTypes = {
  ...types,
  leaves: {
    // a template has none
    'v1.Time': () => time,
    'v1.FieldsV1': () => '{Raw:([]uint8)<nil>}',
    'resource.Quantity': (value) => quantity(value as string | number | undefined),
    'intstr.IntOrString': (value) => intOrString(value as string | number | undefined),
  },
};

const intOrString = (value: string | number = 0): string =>
  typeof value === 'number'
    ? `{Type:(intstr.Type)0 IntVal:(int32)${value} StrVal:(string)}`
    : `{Type:(intstr.Type)1 IntVal:(int32)0 StrVal:(string)${value}}`;

/** The smallest unit of quantities that do not fit 64 bits: nano. */
const nano = 9;

function quantity(value: string | number | undefined): string {
  if (value === undefined)
    return '{i:(resource.int64Amount){value:(int64)0 scale:(resource.Scale)0} d:(resource.infDecAmount){Dec:(*inf.Dec)<nil>} s:(string) Format:(resource.Format)}';
  const parsed = parseQuantity(String(value));
  const { unscaled, exponent, format, text = '' } = parsed;
  const [amount, scale] = parsed.big ? ['0', 0] : [String(unscaled), exponent];
  const decimal = parsed.big ? `(*inf.Dec)${bigDecimal(parsed)}` : '(*inf.Dec)<nil>';
  return [
    `{i:(resource.int64Amount){value:(int64)${amount} scale:(resource.Scale)${scale}}`,
    `d:(resource.infDecAmount){Dec:${decimal}}`,
    `s:(string)${text}`,
    `Format:(resource.Format)${format}}`,
  ].join(' ');
}

function bigDecimal(amount: Quantity): string {
  const unscaled = scaledValue(amount, -nano);
  const words: string[] = [];
  for (let rest = unscaled < 0n ? -unscaled : unscaled; rest > 0n; rest >>= 64n)
    words.push(String(BigInt.asUintN(64, rest)));
  return `{unscaled:(big.Int){neg:(bool)${unscaled < 0n} abs:(big.nat)[${words.join(' ')}]} scale:(inf.Scale)${nano}}`;
}

/** Returns the text that is hashed for a template: Go's dump of its struct. */
export const templateDump = (template: PodTemplate | undefined): string =>
  goDump(template ?? {}, 'v1.PodTemplateSpec', goTypes);

/**
 * Returns the hash of a pod template for names and labels (`ComputeHash`, pkg/controller), the same as kube-controller-manager's.
 *
 * @param collisions how many names were taken; undefined where none was yet
 */
export function templateHash(template: PodTemplate | undefined, collisions?: number): string {
  const bytes = Buffer.alloc(collisions === undefined ? 0 : 8);
  if (collisions !== undefined) bytes.writeUInt32LE(collisions);
  return safeText(String(fnv1a32(templateDump(template), bytes)));
}
