import { expect, test } from 'vitest';
import { amountsOf } from '../../../src/kube/resources/resources.ts';
import { allocatableReservation, validateReservation } from '../../../src/containers/cm/allocatable.ts';

test('what a machine has nothing of cannot be reserved, in the words of Go, which keeps a written zero', () => {
  const capacity = amountsOf({ memory: '0', cpu: '2' });
  const reservation = allocatableReservation(capacity, {
    system: amountsOf({ memory: '1Ki', cpu: '1' }),
    kube: {},
    hardEviction: [],
  });
  expect(validateReservation(capacity, reservation)).toEqual([
    'Resource "memory" has a reservation of {{1024 0} {<nil>}  BinarySI} but capacity of {{0 0} {<nil>} 0 DecimalSI}. Expected capacity >= reservation.',
  ]);
});
