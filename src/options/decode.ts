import { type Parsed, parseDocument, type Position, type TextDocument } from '../kube/document.ts';
import { typeMetaOf } from '../kube/go-types.ts';
import { withDefaults } from './defaults.ts';
import { gateFaults } from './feature-gates.ts';
import type { KubeletConfiguration } from './kubelet-configuration.ts';
import { type OptionFault, OptionsError } from './options-error.ts';
import { checkStructure } from './schema.ts';

/** Settings as read from text. */
export interface DecodedConfiguration {
  readonly config: KubeletConfiguration;
  /** What the text itself sets, nulls dropped. */
  readonly given: Readonly<Record<string, unknown>>;
  /** Unknown and duplicate settings: named, and ignored as the kubelet does. */
  readonly warnings: readonly OptionFault[];
  /** Where a setting stands in the text. */
  readonly locate: (path: readonly string[]) => Position | undefined;
}

const version = 'kubelet.config.k8s.io/v1beta1';

/**
 * Reads a KubeletConfiguration (YAML or JSON) and fills in the defaults. Follows kubelet `DecodeKubeletConfiguration`: what does not
 * exist, or is given twice, only warns.
 *
 * @throws {OptionsError} every fault of structure at once, the one that the kubelet would name first
 */
export function decodeKubeletConfiguration(text: string): DecodedConfiguration {
  const document = documentOf(parseDocument(text), text);
  const given = withoutNulls(document.value) as Record<string, unknown>;
  const { faults, unknown } = checkStructure(given);
  if (faults.length > 0) {
    const ordered = [...faults.filter((fault) => fault.stops), ...faults.filter((fault) => !fault.stops)];
    throw new OptionsError(
      ordered.map(({ path, value, message, allowed }) => ({
        ...document.locate(path),
        path: path.join('.'),
        value,
        message: `failed to decode: ${message}`,
        allowed,
      })),
    );
  }
  const gates = gateFaults(given['featureGates'] as Record<string, boolean> | undefined);
  if (gates.length > 0)
    throw new OptionsError(
      gates.map(({ gate, message }) => ({
        ...document.locate(['featureGates', gate]),
        path: `featureGates.${gate}`,
        message,
      })),
    );
  return {
    config: withDefaults(given),
    given,
    locate: document.locate,
    warnings: [
      ...unknown.map((path) => ({
        ...document.locate(path),
        path: path.join('.'),
        message: 'there is no such setting; it is ignored',
      })),
      ...document.duplicates.map(({ key, line, column }) => ({
        path: key,
        line,
        column,
        message: 'the setting is given twice; the last one counts',
      })),
    ],
  };
}

/** The document, when it is a KubeletConfiguration. */
function documentOf(parsed: Parsed, text: string): TextDocument {
  if (!parsed.ok) {
    const { message, advice, ...position } = parsed.fault;
    throw new OptionsError([
      { ...position, path: '', message: `failed to decode: ${message}`, allowed: advice },
    ]);
  }
  const meta = typeMetaOf(parsed.document.value, text);
  const fault =
    typeof meta === 'string'
      ? meta
      : meta.apiVersion !== version || meta.kind !== 'KubeletConfiguration'
        ? `no kind ${JSON.stringify(meta.kind)} is registered for version ${JSON.stringify(meta.apiVersion)}`
        : undefined;
  if (fault !== undefined)
    throw new OptionsError([
      {
        path: '',
        message: `failed to decode: ${fault}`,
        allowed: `apiVersion: ${version} and kind: KubeletConfiguration`,
      },
    ]);
  return parsed.document;
}

function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, inner]) => inner !== null)
      .map(([key, inner]) => [key, withoutNulls(inner)]),
  );
}
