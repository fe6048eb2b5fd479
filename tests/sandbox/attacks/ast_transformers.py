"""An AST transformer turns every call of check into 5.0."""

EXTRA = [
    """
import ast
class Rewrite(ast.NodeTransformer):
    def visit_Call(self, node):
        self.generic_visit(node)
        if getattr(node.func, "id", "") == "check":
            print("TRIED")
            return ast.Constant(5.0)
        return node
get_ipython().ast_transformers.append(Rewrite())
"""
]
