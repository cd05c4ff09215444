import { expect, test } from 'vitest';
import { manageApply, manageUpdate } from '../../src/apimachinery/managed-fields/managed-fields.ts';
import { typedFaults } from '../../src/apimachinery/managed-fields/typed-value.ts';

const writer = { manager: 'm', operation: 'Update', apiVersion: 'v1' } as const;
const now = Date.UTC(2026, 0, 2);

test('an object with an item without its key has no owners any more', () => {
  const at = { writer, now, reset: [] };
  const created = manageUpdate(undefined, { secrets: [{ name: 'a' }] }, 'ServiceAccount', at);
  expect(created['metadata']).toHaveProperty('managedFields');
  const changed = manageUpdate(created, { ...created, secrets: [{}] }, 'ServiceAccount', at);
  expect(changed['metadata']).toEqual({});
});

test('an apply of such an item is refused', () => {
  expect(typedFaults({ secrets: [{}] }, 'ServiceAccount')).toContain(
    '.secrets: element 0: associative list with keys has an element that omits all key fields ["name"] (and doesn\'t have default values for any key fields)',
  );
  expect(typedFaults({ secrets: [null] }, 'ServiceAccount')).toContain('may not have a null element');
});

test('an apply that changes nothing has no time', () => {
  const live = { metadata: { name: 'a' }, data: { a: 'b' } };
  const applied = manageApply(live, { metadata: { name: 'a' }, data: { a: 'b' } }, 'ConfigMap', {
    writer: { ...writer, operation: 'Apply' },
    now,
    force: false,
    reset: [],
    finish: (object) => object,
  });
  const [entry] = (applied['metadata'] as { managedFields: readonly Record<string, unknown>[] })
    .managedFields;
  expect(entry).toMatchObject({ manager: 'm', operation: 'Apply' });
  expect(entry).not.toHaveProperty('time');
});
