import { expect, test } from 'vitest';
import { internalVersions } from '../../../src/apiserver/apiextensions/internal-versions.ts';

const version = { name: 'v1', served: true, storage: true };
const schema = (type: string): object => ({ openAPIV3Schema: { type, items: { type: 'string' } } });

test('parts that all versions share do not stand in each', () => {
  const versions = [
    { ...version, schema: schema('object'), subresources: { status: {} } },
    { ...version, name: 'v2', storage: false, schema: schema('object'), subresources: { status: {} } },
  ];
  const once = {
    Served: true,
    Deprecated: false,
    DeprecationWarning: null,
    Schema: null,
    Subresources: null,
    AdditionalPrinterColumns: null,
    SelectableFields: null,
  };
  expect(internalVersions(versions)).toEqual([
    { Name: 'v1', Storage: true, ...once },
    { Name: 'v2', Storage: false, ...once },
  ]);
});

test('schemas that differ are shown with all their fields', () => {
  const versions = [
    { ...version, schema: schema('object'), additionalPrinterColumns: [{ name: 'A', type: 'date' }] },
    { ...version, schema: schema('array'), subresources: { scale: { specReplicasPath: '.a' } } },
  ];
  expect(internalVersions(versions)).toMatchObject([
    {
      Schema: {
        OpenAPIV3Schema: { Type: 'object', Items: { Schema: { Type: 'string' }, JSONSchemas: null } },
      },
      Subresources: null,
      AdditionalPrinterColumns: [{ Name: 'A', Type: 'date', Priority: 0, JSONPath: '' }],
    },
    {
      Schema: { OpenAPIV3Schema: { Type: 'array', Properties: null, XPreserveUnknownFields: null } },
      Subresources: { Status: null, Scale: { SpecReplicasPath: '.a', LabelSelectorPath: null } },
      AdditionalPrinterColumns: null,
    },
  ]);
});
