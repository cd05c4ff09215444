import type { JsonObject } from '../../../apimachinery/json.ts';
import { manageApply } from '../../../apimachinery/managed-fields/managed-fields.ts';
import { manageAppliedScale, scaleWithOwners } from '../../../apimachinery/managed-fields/scale-owners.ts';
import { scaleKind, scaleOf, type ScaleView } from './scale-object.ts';

/** Who applies a scale, and how. */
export interface ScaleWriter {
  readonly manager: string;
  readonly view: ScaleView;
  /** The version of the object. */
  readonly apiVersion: string;
  readonly now: number;
  readonly force: boolean;
}

/** An applied scale, and its object with the owners after that. */
export interface AppliedScale {
  readonly scale: JsonObject;
  readonly owned: (object: JsonObject) => JsonObject;
}

/** Applies a scale to that of an object. @throws {StatusError} 409 when others own the replicas and it is not forced */
export function appliedScale(old: JsonObject, config: JsonObject, writer: ScaleWriter): AppliedScale {
  const { manager, now, force, view, apiVersion } = writer;
  const scale = manageApply(scaleWithOwners(scaleOf(old, view), old, view.spec), config, scaleKind.type, {
    writer: { manager, operation: 'Apply', apiVersion: 'autoscaling/v1', subresource: 'scale' },
    now,
    force,
    reset: [],
    finish: (merged) => merged,
  });
  return {
    scale,
    owned: (object) => manageAppliedScale(old, object, { path: view.spec, scale, apiVersion }),
  };
}
