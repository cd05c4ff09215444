import ts from 'typescript';

/**
 * Requires that objects from outside are accessed by own keys only: a key chosen by a client may be `constructor` or `__proto__`. Reports
 *
 * - `key in object` with a computed key;
 * - `table[key]` with an arbitrary string as key, where the table is a constant of a module that was not made by `tableOf`;
 * - with the option `records`: every read and write of `record[key]` with an arbitrary string as key. Use `ownMember` and `setOwn` instead.
 */
export const ownKeys = {
  meta: {
    type: 'problem',
    schema: [{ type: 'object', properties: { records: { type: 'boolean' } }, additionalProperties: false }],
    messages: {
      in: '`in` finds what every object inherits: use Object.hasOwn',
      table:
        'a constant table that is looked into with any key is made by tableOf (src/base/own.ts), or a Map',
      read: 'use ownMember (src/base/own.ts), or a Map: the key may be the name of an inherited member',
      write: 'use setOwn (src/base/own.ts), or a Map: the key may be `__proto__`',
    },
  },
  create(context) {
    const services = context.sourceCode.parserServices;
    const checker = services.program.getTypeChecker();
    const { records = false } = context.options[0] ?? {};
    return {
      "BinaryExpression[operator='in']"(node) {
        if (node.left.type !== 'Literal' && node.left.type !== 'PrivateIdentifier')
          context.report({ node, messageId: 'in' });
      },
      'MemberExpression[computed=true]'(node) {
        if (!isAnyText(services.getTypeAtLocation(node.property))) return;
        if (!isRecord(checker, services.getTypeAtLocation(node.object))) return;
        const constant = constantOf(checker, services.esTreeNodeToTSNodeMap.get(node.object));
        if (constant) {
          if (!isTable(constant)) context.report({ node, messageId: 'table' });
        } else if (records && !isDeleted(node))
          context.report({ node, messageId: isWritten(node) ? 'write' : 'read' });
      },
    };
  },
};

/** True when a key may be any string, and not only one of a fixed set. */
const isAnyText = (type) =>
  type.isUnion()
    ? type.types.some(isAnyText)
    : (type.flags & (ts.TypeFlags.String | ts.TypeFlags.TemplateLiteral)) !== 0;

const isRecord = (checker, type) =>
  (type.isUnion() ? type.types : [type]).some((part) =>
    checker.getIndexInfoOfType(part, ts.IndexKind.String),
  );

/** The declaration of a constant at the top of a module. */
function constantOf(checker, node) {
  if (!ts.isIdentifier(node)) return undefined;
  let symbol = checker.getSymbolAtLocation(node);
  if (symbol && symbol.flags & ts.SymbolFlags.Alias) symbol = checker.getAliasedSymbol(symbol);
  const declaration = symbol?.valueDeclaration;
  const isTop =
    declaration && ts.isVariableDeclaration(declaration) && ts.isSourceFile(declaration.parent.parent.parent);
  return isTop ? declaration : undefined;
}

const isTable = ({ initializer }) =>
  initializer !== undefined &&
  ts.isCallExpression(initializer) &&
  /^(tableOf|constantTable)$/.test(initializer.expression.getText());

const isWritten = (node) =>
  (node.parent.type === 'AssignmentExpression' && node.parent.left === node) ||
  node.parent.type === 'UpdateExpression';

const isDeleted = ({ parent }) => parent.type === 'UnaryExpression' && parent.operator === 'delete';
