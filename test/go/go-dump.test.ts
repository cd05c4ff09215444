import { expect, test } from 'vitest';
import { goDump, type GoTypes } from '../../src/go/go-dump.ts';

const types: GoTypes = {
  structs: {
    'v1.Outer': [
      'Inner  v1.Inner',
      'Next next *v1.Inner',
      'List list []v1.Inner',
      'Map map v1.Map',
      'At at x.Time',
    ],
    'v1.Inner': ['Name name string', 'Count count *int64', 'On on bool'],
  },
  named: { 'v1.Map': 'map[v1.Key]string' },
  leaves: { 'x.Time': (value) => `{at:${String(value)}}` },
};

test('a value is printed with the types of its fields; members of lists and maps without', () => {
  const value = {
    ...{ name: 'a', count: 0, on: true },
    next: { name: 'b' },
    list: [{ name: 'c' }, { count: 2 }],
    map: { z: '1', a: '2', B: '3' },
    at: 5,
  };
  expect(goDump(value, 'v1.Outer', types)).toBe(
    '(v1.Outer){Inner:(v1.Inner){Name:(string)a Count:(*int64)0 On:(bool)true}' +
      ' Next:(*v1.Inner){Name:(string)b Count:(*int64)<nil> On:(bool)false}' +
      ' List:([]v1.Inner)[{Name:(string)c Count:(*int64)<nil> On:(bool)false}' +
      ' {Name:(string) Count:(*int64)2 On:(bool)false}]' +
      ' Map:(v1.Map)map[B:3 a:2 z:1] At:(x.Time){at:5}}',
  );
});

test('nil pointers, lists and maps are printed as such', () => {
  expect(goDump({ list: [], map: {} }, 'v1.Outer', types)).toBe(
    '(v1.Outer){Inner:(v1.Inner){Name:(string) Count:(*int64)<nil> On:(bool)false}' +
      ' Next:(*v1.Inner)<nil> List:([]v1.Inner)<nil> Map:(v1.Map)<nil> At:(x.Time){at:undefined}}',
  );
});
