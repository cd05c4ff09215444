import { expect, test } from 'vitest';
import type { JsonObject } from '../../../src/apimachinery/json.ts';
import { manageApply, manageUpdate } from '../../../src/apimachinery/managed-fields/managed-fields.ts';
import { manageScale } from '../../../src/apimachinery/managed-fields/scale-owners.ts';
import { shapeOfSchema } from '../../../src/apiserver/apiextensions/structural.ts';

const shape = shapeOfSchema(
  {
    type: 'object',
    properties: {
      spec: {
        type: 'object',
        'x-kubernetes-preserve-unknown-fields': true,
        properties: { replicas: { type: 'integer' } },
      },
    },
  },
  true,
);
const now = Date.UTC(2026, 0, 2);
const writer = { manager: 'm', operation: 'Update', apiVersion: 'a/v1' } as const;
const update = (live: JsonObject | undefined, object: JsonObject): JsonObject =>
  manageUpdate(live, object, shape, { writer, now, reset: [] });
const ownersOf = (object: JsonObject): unknown =>
  (object['metadata'] as { managedFields?: readonly { fieldsV1: unknown }[] }).managedFields;

test('an object without the types of its schema has no owners', () => {
  expect(ownersOf(update(undefined, { spec: { replicas: 'x' } }))).toBeUndefined();
  expect(ownersOf(update(undefined, { spec: { replicas: 1 } }))).toMatchObject([{ manager: 'm' }]);
});

test('a value that is no object any more has no owned parts', () => {
  const live = update(undefined, { spec: { a: { x: 1 } } });
  const changed = update(live, { spec: { a: [null] }, metadata: live['metadata'] });
  expect(ownersOf(changed)).toMatchObject([{ fieldsV1: { 'f:spec': { '.': {}, 'f:a': {} } } }]);
  expect(JSON.stringify(ownersOf(changed))).not.toContain('f:x');
});

test('a scale takes replicas from their owner, without a time', () => {
  const scaler = { manager: 's', operation: 'Update', apiVersion: 'a/v1', subresource: 'scale' } as const;
  const live = update(undefined, { spec: { replicas: 1 } });
  const scaled = manageScale(live, { ...live, spec: { replicas: 2 } }, ['spec', 'replicas'], scaler);
  expect(ownersOf(scaled)).toEqual([
    {
      manager: 's',
      operation: 'Update',
      apiVersion: 'a/v1',
      fieldsType: 'FieldsV1',
      fieldsV1: { 'f:spec': { 'f:replicas': {} } },
      subresource: 'scale',
    },
    expect.objectContaining({ manager: 'm', fieldsV1: { 'f:spec': {} } }),
  ]);
});

test('replicas without an owner get none from a scale', () => {
  const scaler = { manager: 's', operation: 'Update', apiVersion: 'a/v1', subresource: 'scale' } as const;
  const live = update(undefined, { spec: { a: 1 } });
  const scaled = manageScale(live, { ...live, spec: { a: 1, replicas: 2 } }, ['spec', 'replicas'], scaler);
  expect(ownersOf(scaled)).toEqual(ownersOf(live));
});

const apply = (live: JsonObject, config: JsonObject, manager = 'a'): JsonObject =>
  manageApply(live, config, shape, {
    writer: { ...writer, manager, operation: 'Apply' },
    now,
    force: true,
    reset: [],
    finish: (object) => object,
  });
const stored = (object: JsonObject): JsonObject => ({
  ...object,
  metadata: { ...(object['metadata'] as JsonObject), name: 'x', uid: '1' },
});

test('fields without owners belong to before-first-apply once something is applied', () => {
  const applied = apply(stored({ spec: { a: 1 } }), { spec: { b: 1 } });
  expect(ownersOf(applied)).toMatchObject([
    { manager: 'a', fieldsV1: { 'f:spec': { 'f:b': {} } } },
    { manager: 'before-first-apply', operation: 'Update', fieldsV1: { 'f:spec': { '.': {}, 'f:a': {} } } },
  ]);
});

test('an apply without fields owns nothing', () => {
  const live = stored(update(undefined, { spec: { a: 1 } }));
  expect(ownersOf(apply(live, {}))).toMatchObject([{ manager: 'm' }]);
});

test('a declared field goes with the last one that was applied below it', () => {
  const live = stored(apply(stored({ metadata: {} }), { spec: { replicas: 1 } }));
  expect(apply(live, {})).not.toHaveProperty('spec');
});

test('a scale to the same number takes the replicas out of the entry of their owner', () => {
  const scaler = { manager: 's', operation: 'Update', apiVersion: 'a/v1', subresource: 'scale' } as const;
  const live = update(undefined, { spec: { replicas: 1 } });
  const scaled = manageScale(live, live, ['spec', 'replicas'], scaler);
  expect(ownersOf(scaled)).toMatchObject([
    { manager: 'm', fieldsV1: { 'f:spec': { 'f:replicas': {} } } },
    { manager: 'm', fieldsV1: { 'f:spec': {} } },
  ]);
});

test('replicas that a scale sets to 0 have no owner', () => {
  const scaler = { manager: 's', operation: 'Update', apiVersion: 'a/v1', subresource: 'scale' } as const;
  const live = update(undefined, { spec: { replicas: 1 } });
  const scaled = manageScale(live, { ...live, spec: { replicas: 0 } }, ['spec', 'replicas'], scaler);
  expect(ownersOf(scaled)).toMatchObject([{ manager: 'm', fieldsV1: { 'f:spec': {} } }]);
});
