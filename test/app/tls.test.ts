import { expect, test } from 'vitest';
import { tlsSettings } from '../../src/app/tls.ts';

test('curves are offered in Go’s order, whatever the order of the list', () => {
  expect(tlsSettings({ tlsCurvePreferences: [23, 29, 4588] }).ecdhCurve).toBe('X25519MLKEM768:X25519:P-256');
  expect(tlsSettings({ tlsCurvePreferences: [] })).not.toHaveProperty('ecdhCurve');
});

test.for([
  [[0], '0 is out of range (must be 1-65535)'],
  [[23, 24, 23], '23 is given twice'],
  [[22], '22 is not served; allowed: 23, 24, 25, 29, 4587, 4588, 4589'],
] as const)('curves %j: %s', ([tlsCurvePreferences, why]) => {
  expect(() => tlsSettings({ tlsCurvePreferences })).toThrow(`tlsCurvePreferences: ${why}`);
});
