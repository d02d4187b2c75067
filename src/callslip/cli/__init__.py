from callslip.cli import early

if early.is_program():
    early.install()
