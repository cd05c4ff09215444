import { ownMember, setOwn } from '../base/own.ts';
import { formatDuration, parseDuration } from '../kube/duration.ts';
import type { Field, FieldType, StructType } from './field.ts';
import type { KubeletConfiguration } from './kubelet/kubelet-configuration.ts';
import { kubeletStruct } from './schema.ts';

type Draft = Record<string, unknown>;

/**
 * Fills in unset settings and writes every duration in canonical form. Zero counts as unset where the kubelet treats it so. Drops unknown
 * settings. Follows kubelet `SetDefaults_KubeletConfiguration`.
 *
 * @param raw structurally valid settings
 */
export function withDefaults(raw: Readonly<Record<string, unknown>>): KubeletConfiguration {
  const filled = fill(kubeletStruct, { ...raw, ...derived(raw) });
  const whole = { ...filled, apiVersion: 'kubelet.config.k8s.io/v1beta1', kind: 'KubeletConfiguration' };
  return whole as unknown as KubeletConfiguration;
}

/** Returns the defaults that depend on other settings. */
function derived(raw: Readonly<Record<string, unknown>>): Draft {
  const out: Draft = {};
  if (isZeroSpan(raw['nodeStatusReportFrequency']) && !isZeroSpan(raw['nodeStatusUpdateFrequency']))
    out['nodeStatusReportFrequency'] = raw['nodeStatusUpdateFrequency'];
  if (raw['serializeImagePulls'] === undefined && Number(raw['maxParallelImagePulls'] ?? 0) >= 2)
    out['serializeImagePulls'] = false;
  if (Number(raw['podPidsLimit'] ?? 0) < 0) out['podPidsLimit'] = -1;
  return out;
}

const nanosOf = (value: unknown): bigint | string | undefined =>
  typeof value === 'string' ? parseDuration(value) : typeof value === 'number' ? BigInt(value) : undefined;

const isZeroSpan = (value: unknown): boolean => value === undefined || nanosOf(value) === 0n;

function fill(type: StructType, raw: Readonly<Record<string, unknown>>): Draft {
  const out: Draft = {};
  for (const [name, field] of Object.entries(type.fields)) {
    const value = fillField(field, ownMember(raw, name));
    if (value !== undefined) setOwn(out, name, value);
  }
  return out;
}

function fillField(field: Field, value: unknown): unknown {
  const { type } = field;
  if (typeof type === 'object') return fillStruct(field, type, value);
  if (type === 'duration' || type === 'duration or nanoseconds') return fillSpan(field, value);
  if (value === undefined) return field.default;
  if (!field.zeroIsSet && isZero(value)) return Array.isArray(field.default) ? value : field.default;
  return canonical(type, value);
}

function fillStruct(field: Field, type: Exclude<FieldType, string>, value: unknown): unknown {
  if ('listOf' in type) {
    const items = (value ?? []) as readonly Draft[];
    return items.length === 0 ? undefined : items.map((item) => fill(type.listOf, item));
  }
  return value === undefined && field.zeroIsSet ? undefined : fill(type, (value ?? {}) as Draft);
}

/** Returns a duration in canonical form; a number of nanoseconds stays one. */
function fillSpan({ default: unset, zeroIsSet = false }: Field, value: unknown): unknown {
  const nanos = nanosOf(value);
  if (typeof value === 'number' && value !== 0) return value;
  if (typeof nanos === 'bigint' && (zeroIsSet || nanos !== 0n)) return formatDuration(nanos);
  return unset ?? (zeroIsSet ? undefined : '0s');
}

/** Converts quantities written as numbers to text. */
function canonical(type: FieldType, value: unknown): unknown {
  if (type === 'quantity') return String(value);
  if (type !== 'map[string]quantity') return value;
  return Object.fromEntries(
    Object.entries(value as Readonly<Record<string, string | number>>).map(([key, amount]) => [
      key,
      String(amount),
    ]),
  );
}

const isZero = (value: unknown): boolean =>
  value === '' ||
  value === 0 ||
  value === false ||
  (typeof value === 'object' && value !== null && Object.keys(value).length === 0);
