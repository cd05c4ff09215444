import { deviceClassStrategy } from '../../../../src/apiserver/registry/resource/device-class.ts';
import { testKind } from '../one-kind.ts';

const selectedBy = (expression: string): unknown => ({ spec: { selectors: [{ cel: { expression } }] } });

testKind(deviceClassStrategy, {
  created: [
    [
      { spec: { selectors: [{ cel: { expression: 'device.driver == "a.b"' } }] } },
      {
        metadata: { generation: 1 },
        spec: { selectors: [{ cel: { expression: 'device.driver == "a.b"' } }] },
      },
    ],
    [
      { spec: { selectors: [{ cel: { expression: 'device.attributes["a.b"].fast' } }] } },
      {
        metadata: { generation: 1 },
        spec: { selectors: [{ cel: { expression: 'device.attributes["a.b"].fast' } }] },
      },
    ],
  ],
  rejected: [
    [
      selectedBy('device.driver') as Record<string, unknown>,
      [
        'spec.selectors[0].cel.expression: Invalid value: "device.driver": must evaluate to bool or the unknown type, not string',
      ],
    ],
    [
      selectedBy('device.capacity["a.b"].size.isGreaterThan(2)') as Record<string, unknown>,
      [
        'spec.selectors[0].cel.expression: Invalid value: "device.capacity[\\"a.b\\"].size.isGreaterThan(2)": compilation failed: ERROR: <input>:1:42: found no matching overload for \'isGreaterThan\' applied to \'kubernetes.Quantity.(int)\'\n | device.capacity["a.b"].size.isGreaterThan(2)\n | .........................................^',
      ],
    ],
    [{ spec: { selectors: [{}] } }, ['spec.selectors[0].cel: Required value']],
    [
      { spec: { config: [{}, { opaque: { driver: 'a.b', parameters: [1] } }] } },
      [
        'spec.config[0].opaque: Required value',
        'spec.config[1].opaque.parameters: Invalid value: "<value omitted>": must be a valid JSON object',
      ],
    ],
    [
      { spec: { extendedResourceName: 'cpu' } },
      ['spec.extendedResourceName: Invalid value: "cpu": must be a valid extended resource name'],
    ],
  ],
  updates: {
    of: { spec: {} },
    patches: [
      [{ spec: { extendedResourceName: 'example.com/gpu' } }, '', 2],
      [{ metadata: { labels: { a: 'b' } } }, '', 2],
    ],
  },
});
